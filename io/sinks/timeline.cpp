#include "io/sinks/timeline.h"

#include <fmt/format.h>
#include <pthread.h>

#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "io/core/error.h"
#include "io/metrics/sink.h"
#include "io/sinks/stdio_file.h"

namespace stoker {
namespace {

constexpr auto kSetupPoll = std::chrono::milliseconds(50);
constexpr double kShortestRow = 0.01;  // the last one, in seconds

struct TimelineOptions {
  double seconds = 1;
  template <class V>
  void visit(V& v) {
    v("seconds", seconds, "between two rows", Limits{0.01, 3600});
  }
};

// timeline.csv in the run directory: a row per second, from the begin of the training loop until
// checkpoints and drains have ended too, written by a thread that only reads counters.
class Timeline final : public MetricsSink {
 public:
  using Options = TimelineOptions;
  Timeline(Options options, const Inputs& inputs)
      : options_(options),
        hub_(inputs.hub),
        path_(inputs.run_dir + "/timeline.csv"),
        file_(std::fopen(path_.c_str(), "wx")) {
    if (file_ == nullptr) throw_errno("create", path_, errno);
    // A process that is killed leaves whole rows.
    std::setvbuf(file_.get(), nullptr, _IOLBF, BUFSIZ);
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }

  void write(const StepReport&) override {}

  void flush() override {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
    if (error_) std::rethrow_exception(error_);
    if (std::fflush(file_.get()) != 0) throw_errno("write", path_, errno);
  }

 private:
  void run(const std::stop_token& stop) {
    pthread_setname_np(pthread_self(), "timeline");
    try {
      // What is read before the loop, such as a checkpoint, is in no row.
      do {
        last_ = look_at(hub_);
        if (sleep_until(Clock::now() + kSetupPoll, stop)) return;
      } while (!hub_.run().state().loop_begin);
      rows(stop);
    } catch (...) {
      error_ = std::current_exception();  // of the disk; flush() says so
    }
  }

  void rows(const std::stop_token& stop) {
    const auto pause = std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(options_.seconds));
    TimePoint due = *hub_.run().state().loop_begin;
    while (!stop.stop_requested()) {
      // Rows that this thread came too late for are not made up for.
      for (due += pause; due < Clock::now();) due += pause;
      sleep_until(due, stop);
      row();
    }
  }

  // True: it is time to end.
  bool sleep_until(TimePoint due, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    wake_.wait_until(lock, stop, due, [&] { return stop.stop_requested(); });
    return stop.stop_requested();
  }

  void row() {
    const MeasuringScope scope(hub_, Overhead::sinks);
    TimelineMoment now = look_at(hub_);
    if (seconds(now.at - last_.at) < kShortestRow) return;
    const std::vector<TimelineField> fields = timeline_row(last_, now);
    std::string names;
    std::string values;
    for (const TimelineField& field : fields) {
      names += (names.empty() ? "" : ",") + field.name;
      if (&field != fields.data()) values += ',';
      if (field.value)
        values += fmt::format("{:.{}g}", *field.value, field.name == "unix_s" ? 13 : 7);
    }
    if (!header_) put(names);
    header_ = true;
    put(values);
    last_ = std::move(now);
  }

  void put(const std::string& text) {
    if (std::fprintf(file_.get(), "%s\n", text.c_str()) < 0) throw_errno("write", path_, errno);
  }

  const Options options_;
  Hub& hub_;
  const std::string path_;
  const StdioFile file_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  TimelineMoment last_;
  bool header_ = false;
  std::exception_ptr error_;
  std::jthread thread_;  // the last member: it uses all others
};

STOKER_REGISTER(MetricsSink, "timeline", Timeline);

}  // namespace
}  // namespace stoker
