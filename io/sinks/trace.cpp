#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "io/core/text/json.h"
#include "io/metrics/hub.h"
#include "io/metrics/sink.h"
#include "io/sinks/output_file.h"
#include "io/sinks/shared.h"

namespace stoker {
namespace {

constexpr uint64_t kEndBytes = 512;        // kept free for the last line
constexpr int64_t kMaxThreadId = 1 << 22;  // Linux's PID_MAX_LIMIT
constexpr int64_t kFilePlace = 1'000'000;  // below all other rows, in the order of their first use

std::string quoted(const std::string& text) { return json_text(nlohmann::json(text)); }

int64_t nanoseconds(Clock::duration d) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(d).count();
}

// Rows from the top: by what the names of threads begin with, then by the number they end with.
int64_t place_of(const std::string& name) {
  static constexpr std::string_view kOrder[] = {
      "trainer", "device", "load-", "copy-ahead", "ckpt-copy", "ckpt-write", "ckpt-drain"};
  const auto* kind = std::find_if(std::begin(kOrder), std::end(kOrder),
                                  [&](std::string_view kind) { return name.starts_with(kind); });
  int64_t number = 0;
  const size_t digits = name.find_last_not_of("0123456789") + 1;
  std::from_chars(name.data() + digits, name.data() + name.size(), number);
  return 1000 * (kind - std::begin(kOrder)) + std::min<int64_t>(number, 999);
}

// Where the program started, on the clock of the events; never after now.
TimePoint start_of(const RunInfo& run) {
  const std::chrono::duration<double> since_epoch =
      std::chrono::system_clock::now().time_since_epoch();
  const double age = run.started_unix_s > 0 ? since_epoch.count() - run.started_unix_s : 0;
  return Clock::now() - std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(std::max(0.0, age)));
}

// trace.json in the run directory, for Perfetto or chrome://tracing: a row per thread and one for
// the device, of a window of steps. One event per line, each behind its comma, so that whole lines
// and a bracket are JSON where the process was killed; both viewers do without the bracket.
class Trace final : public MetricsSink {
 public:
  struct Options {
    int64_t first_step = 0;
    int64_t steps = 200;
    ByteSize max_bytes{100'000'000};
    template <class V>
    void visit(V& v) {
      v("first_step", first_step, "The trace begins after this number of steps of this process.",
        Limits{0});
      v("steps", steps, "The trace covers this number of steps.", Limits{1});
      v("max_bytes", max_bytes,
        "The largest size of trace.json. What comes later is left out and counted.");
    }
    void check(const Section& section) const {
      if (max_bytes.bytes < 4096) section.fail("max_bytes", "must be at least 4096");
    }
  };

  Trace(Options options, const Inputs& inputs)
      : inputs_(inputs),
        max_bytes_(options.max_bytes.bytes),
        file_(inputs.run_dir + "/trace.json"),
        start_(start_of(inputs.hub.run().state().info)),
        window_{options.first_step, options.steps},
        dropped_before_(inputs.hub.tracer().dropped()) {
    const RunInfo run = inputs.hub.run().state().info;
    buffer_ = fmt::format(
        "[\n"
        R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})"
        "\n",
        pid_, quoted(fmt::format("stoker {} rank {}", run.name, run.rank)));
    write_out();
    subscription_ = inputs.hub.tracer().subscribe(
        window_, reporting(inputs, [this](const TraceRow& row) { add(row); }));
  }

  void flush() override {
    subscription_->deliver();
    subscription_.reset();
    const int64_t dropped = inputs_.hub.tracer().dropped() - dropped_before_;
    buffer_ =
        fmt::format(R"(,{{"ph":"M","name":"trace_end","pid":{},"args":{{"events":{},"dropped":{},)"
                    R"("over_max_bytes":{},"whole_run":{}}}}})"
                    "\n]\n",
                    pid_, events_, dropped, over_max_bytes_, whole_run());
    write_out();
    std::string line = fmt::format("trace: {} events in {}", events_, file_.path());
    if (over_max_bytes_ > 0) line += fmt::format("; {} more over max_bytes", over_max_bytes_);
    if (dropped > 0) line += fmt::format("; {} came too fast and were dropped", dropped);
    inputs_.log(line);
  }

 private:
  // The window was open from before the loop until after it.
  bool whole_run() const {
    return window_.first_step == 0 && inputs_.hub.run().state().totals.steps < window_.steps;
  }

  // The number of a new row: a thread has the kernel's, all others have one that no thread can
  // have.
  int64_t number_of(const TraceRow& row) const {
    if (row.id == kFileRow) return kMaxThreadId - kFileRow + std::ssize(rows_);
    return row.id < 0 ? kMaxThreadId - row.id : row.id;
  }

  // A thread gets the row of one that ended where slot and name are the same: helpers that come and
  // go are one row. Its number there is that of the first.
  int64_t row_of(const TraceRow& row) {
    const auto [at, is_new] =
        rows_.try_emplace({row.slot, row.id < 0 ? row.id : 0, row.name}, number_of(row));
    const int64_t id = at->second;
    if (is_new) {
      const std::string name = row.id == trainer_ ? "trainer" : row.name;
      const auto meta = [&](const char* what, const char* key, const std::string& value) {
        put(fmt::format(R"(,{{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"{}":{}}}}})"
                        "\n",
                        what, pid_, id, key, value));
      };
      meta("thread_name", "name", quoted(name));
      const int64_t place = row.id == kFileRow ? kFilePlace + id : place_of(name);
      meta("thread_sort_index", "sort_index", std::to_string(place));
    }
    return id;
  }

  // Name and category, as they are written. An operation is named after its tier.
  const std::string& label_of(const TraceEvent& event) {
    std::string& label = labels_[{event.name, event.category, event.tier}];
    if (!label.empty()) return label;
    const std::string name =
        event.tier == nullptr ? event.name : fmt::format("{}: {}", event.tier, event.name);
    return label = fmt::format(R"("name":{},"cat":"{}")", quoted(name), event.category);
  }

  void add_arguments(const TraceEvent& event) {
    bool first = true;
    const auto argument = [&](const char* name, bool known, auto value) {
      if (!known) return;
      line_ += first ? R"(,"args":{)" : ",";
      first = false;
      fmt::format_to(std::back_inserter(line_), R"("{}":{})", name, value);
    };
    // A read of a file that gets nothing is there, too.
    argument("offset", event.offset >= 0, event.offset);
    argument("bytes", event.bytes > 0 || event.offset >= 0, event.bytes);
    argument("step", event.step >= 0, event.step);
    if (!first) line_ += '}';
  }

  // One thread at a time, the tracer's or the trainer's.
  void add(const TraceRow& row) {
    const int64_t id = row_of(row);
    for (const TraceEvent& event : row.events) {
      const int64_t begin = nanoseconds(event.begin - start_);
      const int64_t took = nanoseconds(event.end - event.begin);
      line_.clear();
      fmt::format_to(std::back_inserter(line_),
                     R"(,{{"ph":"X",{},"pid":{},"tid":{},"ts":{}.{:03},"dur":{}.{:03})",
                     label_of(event), pid_, id, begin / 1000, begin % 1000, took / 1000,
                     took % 1000);
      add_arguments(event);
      line_ += "}\n";
      ++(put(line_) ? events_ : over_max_bytes_);
    }
    write_out();
  }

  // False: over the limit. Nothing comes after the first line that is.
  bool put(const std::string& line) {
    full_ = full_ || bytes_ + buffer_.size() + line.size() + kEndBytes > max_bytes_;
    if (!full_) buffer_ += line;
    return !full_;
  }

  // Whole lines only, so that a process that is killed leaves few of them half.
  void write_out() {
    bytes_ += buffer_.size();
    file_.write(buffer_);
    buffer_.clear();
  }

  const Inputs inputs_;
  const uint64_t max_bytes_;
  const OutputFile file_;
  const TimePoint start_;
  const Tracer::Window window_;
  const int64_t dropped_before_;
  const int64_t pid_ = ::getpid();
  const int64_t trainer_ = ::gettid();
  std::map<std::tuple<size_t, int64_t, std::string>, int64_t> rows_;
  std::map<std::array<const char*, 3>, std::string> labels_;
  std::string line_;
  std::string buffer_;
  uint64_t bytes_ = 0;
  bool full_ = false;
  int64_t events_ = 0;
  int64_t over_max_bytes_ = 0;
  std::unique_ptr<Tracer::Subscription> subscription_;  // last: its consumer uses the rest
};

STOKER_REGISTER(MetricsSink, "trace", Trace);

}  // namespace
}  // namespace stoker
