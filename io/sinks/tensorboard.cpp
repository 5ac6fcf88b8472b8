#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <climits>
#include <cmath>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "io/core/crc32c.h"
#include "io/core/system/file.h"
#include "io/core/text/json.h"
#include "io/core/wire/protobuf.h"
#include "io/metrics/clock.h"
#include "io/metrics/hub.h"
#include "io/metrics/sink.h"
#include "io/sinks/file_timeline.h"
#include "io/sinks/output_file.h"
#include "io/sinks/shared.h"

namespace stoker {
namespace {

using nlohmann::json;

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = "";
  return ::gethostname(name, sizeof name) == 0 ? name : "localhost";
}

std::string event_at_now() {
  return wire_number(1, WireType::fixed64, std::bit_cast<uint64_t>(unix_now()));
}

std::string scalar(const std::string& tag, double value) {
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  return wire_bytes(1, wire_bytes(1, tag) + wire_number(2, WireType::fixed32, bits));
}

// Counts of sizes between bounds in bytes, the last of which has no upper one. TensorBoard's axis
// is linear, and sizes are from 1 B to 1 GB: so it is the decimal logarithm.
std::string histogram(const std::string& tag, const json& bounds, const json& counts) {
  const auto fixed = [](uint32_t field, double value) {
    return wire_number(field, WireType::fixed64, std::bit_cast<uint64_t>(value));
  };
  constexpr double kMostDigits = 10;  // where the last one is drawn to end
  const auto edge = [&](size_t at) {
    return at == 0              ? 0.
           : at > bounds.size() ? kMostDigits
                                : std::log10(bounds[at - 1].get<double>());
  };
  size_t first = 0, end = counts.size();
  while (first < end && counts[first] == 0) ++first;
  while (first < end && counts[end - 1] == 0) --end;
  double all = 0;
  std::string limits, buckets;
  const auto append = [](std::string& list, double value) {
    list.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  for (size_t at = first; at < end; ++at) {
    append(limits, edge(at + 1));
    append(buckets, counts[at].get<double>());
    all += counts[at].get<double>();
  }
  return wire_bytes(1,
                    wire_bytes(1, tag) +
                        wire_bytes(5, fixed(1, edge(first)) + fixed(2, edge(end)) + fixed(3, all) +
                                          wire_bytes(6, limits) + wire_bytes(7, buckets)));
}

// What profile_json() says of a session: each number under its place, each histogram of sizes.
// Lists and who was profiled are left out.
std::string session_values(const json& value, const std::string& tag) {
  if (value.is_number()) return scalar(tag, value.get<double>());
  if (!value.is_object()) return "";
  if (value.contains("bounds")) {
    return histogram(tag + "_log10", value.at("bounds"), value.at("counts"));
  }
  std::string values;
  for (const auto& [name, member] : value.items()) {
    if (name == "job" || name == "first_step") continue;
    values += session_values(member, fmt::format("{}/{}", tag, name));
  }
  return values;
}

// The tab lists sessions by letters: with the step in ten digits that is their order.
std::string in_order(const std::string& session) {
  const size_t first = std::min(session.size(), session.find_first_of("0123456789"));
  const size_t end = std::min(session.size(), session.find_first_not_of("0123456789", first));
  const std::string step = session.substr(first, end - first);
  return session.substr(0, first) + std::string(10 - std::min<size_t>(10, step.size()), '0') +
         session.substr(first);
}

// A TensorBoard event file in the run directory, events.out.tfevents.<time>.<host>.<pid>.0: records
// that each hold one protocol buffer of type Event.
//
//   record = as io/core/wire/protobuf.h says
//   event  = 1: seconds (double), 2: step, 3: version (first record only), 5: summary
//   summary = value*,  value = 1: tag, 2: number (float), 5: histogram
//   histogram = 1: least, 2: most, 3: how many, 6: upper bounds, 7: counts
//
// step_figures() of every report are its scalars. A tag is the figure's name with slashes for dots,
// as what stands before a slash is a group of cards on TensorBoard's page. What was not measured
// has no point.
//
// A session of the I/O profiler has its figures below io_profile/, at the step at which it ended,
// and a timeline with a line for each file in plugins/profile/<session>/<host>.xplane.pb, which is
// what the tab Profile looks for.
class TensorBoard final : public MetricsSink {
 public:
  using Options = NoOptions;
  TensorBoard(Options, const Inputs& inputs)
      : inputs_(inputs),
        file_(fmt::format("{}/events.out.tfevents.{:010}.{}.{}.0", inputs.run_dir,
                          static_cast<int64_t>(unix_now()), host_name(), ::getpid())) {
    put(event_at_now() + wire_bytes(3, "brain.Event:2"));
    sessions_ = inputs.hub.io_sessions().subscribe([this](const IoSessionReport& session) {
      try {
        write(session);
      } catch (const Error& error) {
        inputs_.failed(error.what());
      }
    });
  }

  void write(const RunRecord& run, const RunRecord& window) override {
    std::string summary;
    for (RowField& one : figure_row(step_figures(), run, window)) {
      if (!one.value) continue;
      std::ranges::replace(one.name, '.', '/');
      summary += scalar(one.name, *one.value);
    }
    put_summary(run.run.totals.steps, summary);
  }

 private:
  void write(const IoSessionReport& session) {
    put_summary(session.step, session_values(parse_json(session.json), "io_profile"));
    constexpr size_t kMostEvents = 2'000'000;  // some 50 MB; the tab is slow long before
    const FileTimeline timeline =
        file_timeline(session.rows, session.begin, host_name(), kMostEvents);
    const std::string path = fmt::format("{}/plugins/profile/{}/{}.xplane.pb", inputs_.run_dir,
                                         in_order(session.name), host_name());
    atomic_write_file(
        path, {reinterpret_cast<const uint8_t*>(timeline.xplane.data()), timeline.xplane.size()});
    if (timeline.left_out > 0) {
      inputs_.log(fmt::format("{}: {} reads and writes are left out: it has the first {}", path,
                              timeline.left_out, kMostEvents));
    }
  }

  void put_summary(int64_t step, const std::string& summary) {
    put(event_at_now() + wire_number(2, WireType::varint, static_cast<uint64_t>(step)) +
        wire_bytes(5, summary));
  }

  void put(const std::string& event) {
    const auto head = record_head(event.size());
    const auto tail =
        record_tail(crc32c({reinterpret_cast<const uint8_t*>(event.data()), event.size()}));
    const std::lock_guard lock(mutex_);
    file_.write(std::string(head.begin(), head.end()) + event +
                std::string(tail.begin(), tail.end()));
  }

  const Inputs inputs_;
  std::mutex mutex_;  // of the file: reports and sessions come on two threads
  const OutputFile file_;
  std::unique_ptr<IoSessionFeed::Subscription> sessions_;  // last, as it uses the rest
};

STOKER_REGISTER(MetricsSink, "tensorboard", TensorBoard);

}  // namespace
}  // namespace stoker
