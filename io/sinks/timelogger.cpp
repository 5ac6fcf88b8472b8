#include <fmt/compile.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/metrics/hub.h"
#include "io/metrics/sink.h"
#include "io/sinks/output_file.h"
#include "io/sinks/shared.h"

namespace stoker {

// Which reads are records.
enum class LoggedReads { samples, files };
EnumNames<LoggedReads> enum_names(LoggedReads) {
  return {{"samples", LoggedReads::samples}, {"files", LoggedReads::files}};
}

namespace {

constexpr int64_t kUnknown = -1;  // epoch
constexpr size_t kReadsKept = 256;
constexpr const char* kHeader =
    "Epoch,Rank,Action Name,Action Description,Start Time,End Time,Time Taken,Process ID,"
    "Current Thread\n";

// The name of a part of a checkpoint's way; null: it has no record.
const char* checkpoint_description(std::string_view part) {
  if (part == "snapshot") return "Checkpoint Snapshot";
  if (part == "write") return "Checkpoint Write";
  if (part == "drain") return "Checkpoint Drain";
  if (part == "restore") return "Checkpoint Restore";
  return nullptr;
}

// The path of the file; its directory is made.
std::string path_of(const std::string& directory, int64_t rank) {
  make_directories(directory);
  return directory + "/" + std::to_string(rank);
}

struct Span {
  int64_t thread;
  TimePoint begin, end;
};

// time_logger_output/<rank> in the run directory: the records of the TimeLogger of Chowdhury et al.
// (2018) as CSV. Times are UNIX seconds with microseconds. By their Action Description, in brackets
// what stands under Epoch:
//
//   Training Iteration         from a step's wait for its batch to the next step's [epoch]
//   Call to Next Batch         that wait, at the begin of the iteration [epoch]
//   Checkpoint Listener        checkpoints hold up the trainer [step]; every step offers one, so
//                              there are records of microseconds where none was due
//   Time to Read Single Image  a thread of a loader reads one sample [-1]; with reads: samples
//   Load File, HDF5 File Read  that thread has to get a sample's file first, and the tier's read of
//                              it, which is a part of the former [-1]; with reads: files
//   Training Loop              the trainer's first segment to its last [-1]
//
// and those that they do not have:
//
//   Validation                 an evaluation, outside of iterations [epoch]
//   Checkpoint Snapshot, Checkpoint Write, Checkpoint Drain, Checkpoint Restore
//                              parts of a checkpoint's way, beside the training [step of the set]
//
// Epochs begin at 0, as in all our files.
class TimeLogger final : public MetricsSink {
 public:
  struct Options {
    LoggedReads reads = LoggedReads::samples;
    template <class V>
    void visit(V& v) {
      v("reads", reads,
        "What a record of reading is. samples: one record for each sample that is read (CDB). "
        "files: two records for each file that is read for one of its samples (HEPCNNB, with "
        "dataset.access: whole).");
    }
  };
  TimeLogger(Options options, const Inputs& inputs)
      : inputs_(inputs),
        reads_(options.reads),
        rank_(inputs.hub.run().state().info.rank),
        file_(path_of(inputs.run_dir + "/time_logger_output", rank_)) {
    file_.write(kHeader);
    events_ = inputs_.hub.tracer().subscribe(
        {}, reporting(inputs, [this](const TraceRow& row) { take(row); }));
  }

  void flush() override {
    events_->deliver();
    events_.reset();
    end_iteration();
    if (loop_) put(kUnknown, "loop", "Training Loop", *loop_);
    write_text();
    if (const int64_t dropped = inputs_.hub.tracer().dropped(); dropped > 0) {
      inputs_.log(fmt::format("warning: {} lacks some of {} events that came too fast",
                              file_.path(), dropped));
    }
  }

 private:
  struct Iteration {
    int64_t step;
    Span wait;
  };

  // A thread of the tracer's, until events_ is gone.
  void take(const TraceRow& row) {
    for (const TraceEvent& event : row.events) add(row, event);
    write_text();
  }

  void add(const TraceRow& row, const TraceEvent& event) {
    const std::string_view category = event.category, name = event.name;
    const Span span{row.id, event.begin, event.end};
    if (category == "trainer") {
      add_segment(name, event.step, span);
    } else if (category == "checkpoint") {
      if (const char* text = checkpoint_description(name)) put(event.step, name, text, span);
    } else if (category == "loader" && name == "read") {
      add_sample_read(row, span);
    } else if (category == "storage" && name == "read" && reads_ == LoggedReads::files) {
      // What this one is made of ended before it.
      std::vector<Span>& reads = tier_reads_[row.id];
      std::erase_if(reads, [&](const Span& inner) { return inner.begin >= span.begin; });
      if (reads.size() == kReadsKept) reads.erase(reads.begin());  // of a thread without samples
      reads.push_back(span);
    }
  }

  void add_sample_read(const TraceRow& row, const Span& span) {
    if (reads_ == LoggedReads::samples) {
      return put(kUnknown, "read", "Time to Read Single Image", span);
    }
    std::vector<Span>& reads = tier_reads_[row.id];
    std::erase_if(reads, [&](const Span& read) { return read.begin < span.begin; });
    for (const Span& read : reads) put(kUnknown, "read", "HDF5 File Read", read);
    if (!reads.empty()) put(kUnknown, "load", "Load File", span);
    reads.clear();
  }

  void add_segment(std::string_view name, int64_t step, const Span& span) {
    if (name == "data_wait" && iteration_ && iteration_->step == step) {
      iteration_->wait.end = span.end;  // it goes on after a pause of the process
    } else if (name == "data_wait") {
      end_iteration();
      iteration_ = {step, span};
    } else if (name == "eval") {
      end_iteration();
      put(epoch_of(step_), name, "Validation", span);
    } else if (name == "checkpoint_stall") {
      put(iteration_ ? iteration_->step : step_, name, "Checkpoint Listener", span);
    }
    if (!loop_) loop_ = span;
    loop_->end = span.end;
  }

  // With the last segment seen.
  void end_iteration() {
    if (!iteration_) return;
    step_ = iteration_->step;
    const Span& wait = iteration_->wait;
    const int64_t epoch = epoch_of(step_);
    put(epoch, "data_wait", "Call to Next Batch", wait);
    put(epoch, "step", "Training Iteration", {wait.thread, wait.begin, loop_->end});
    iteration_.reset();
  }

  int64_t epoch_of(int64_t step) const {
    return inputs_.hub.run().epoch_of(step).value_or(kUnknown);
  }

  void put(int64_t epoch, std::string_view action, const char* description, const Span& span) {
    const int64_t begin = unix_us(span.begin), end = unix_us(span.end), took = end - begin;
    constexpr int64_t kSecond = 1000000;
    fmt::format_to(std::back_inserter(text_),
                   FMT_COMPILE("{},{},{},{},{}.{:06},{}.{:06},{}.{:06},{},{}\n"), epoch, rank_,
                   action, description, begin / kSecond, begin % kSecond, end / kSecond,
                   end % kSecond, took / kSecond, took % kSecond, pid_, span.thread);
  }

  int64_t unix_us(TimePoint time) const {
    return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch() + to_unix_)
        .count();
  }

  // Whole lines, also for a process that is killed.
  void write_text() {
    file_.write(text_);
    text_.clear();
  }

  const Inputs inputs_;
  const LoggedReads reads_;
  const int64_t rank_;
  const int64_t pid_ = ::getpid();
  const OutputFile file_;
  // Found once: durations stay right when somebody sets the clock.
  const std::chrono::nanoseconds to_unix_ =
      std::chrono::system_clock::now().time_since_epoch() - Clock::now().time_since_epoch();
  std::string text_;
  std::optional<Iteration> iteration_;
  std::optional<Span> loop_;  // up to the last segment
  int64_t step_ = kUnknown;   // of the last whole iteration
  // By thread: reads of tiers that belong to the sample that it reads now.
  std::map<int64_t, std::vector<Span>> tier_reads_;
  std::unique_ptr<Tracer::Subscription> events_;  // last: its end still uses the others
};

STOKER_REGISTER(MetricsSink, "timelogger", TimeLogger);

}  // namespace
}  // namespace stoker
