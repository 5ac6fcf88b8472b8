#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/metrics/clock.h"
#include "io/metrics/queue_meter.h"
#include "io/metrics/record_read_meter.h"
#include "io/metrics/tally.h"
#include "io/metrics/thread_slots.h"
#include "io/metrics/tracer.h"

namespace stoker {

// Which sample it was. A value.
struct SampleId {
  // Which pass over the data, from 0.
  int64_t epoch = 0;
  int64_t index = 0;  // of its split
};

// One of the slowest. A value.
struct SlowSample {
  SampleId sample;
  double seconds = 0;
  uint64_t bytes = 0;
};

// The samples that took longest. One thread adds, any reads: a sample that is not among them costs
// one relaxed load and a comparison. So that a report can name what to look at: a damaged file, a
// large image, a slow server.
class SlowSamples {
 public:
  // How many samples each thread keeps, and how many the result has.
  static constexpr size_t kKept = 10;

  // The owning thread only. bytes: the size of the encoded sample. A sample that is kept costs a
  // lock and an allocation at most.
  void add(Clock::duration took, uint64_t bytes, SampleId sample) {
    if (took > least_.load(std::memory_order_relaxed)) keep({sample, seconds(took), bytes});
  }
  // Appends those that are kept, in no order. Any thread.
  void append_to(std::vector<SlowSample>& all) const;

 private:
  void keep(const SlowSample& sample);

  std::atomic<Clock::duration> least_{Clock::duration{-1}};  // that is kept, once there are kKept
  mutable std::mutex mutex_;
  std::vector<SlowSample> kept_;
};

// The slowest kKept of them, slowest first.
std::vector<SlowSample> slowest_of(std::vector<SlowSample> all);

// What a loader's threads do, per sample: read and decode (with augmentation, into the slot); per
// batch: digest, copy to the device, and wait (a worker that has nothing to do, as the window of
// batches ahead is full).
enum class Stage { read, decode, digest, copy, wait };
inline constexpr size_t kStages = 5;
// "decode": the name in every sink. Valid for ever.
const char* stage_name(Stage stage);

// Where the loaders of one split spend their time. Two kinds of threads call it: those of the
// loaders, which add to slots of their own, and readers of figures. Lives as long as the run; its
// loaders come and go. Any thread.
class LoaderMeter {
 public:
  // split: "train" or "test". `tracer` outlives the meter.
  LoaderMeter(std::string split, Tracer& tracer) : tracer_(tracer) {
    state_.split = std::move(split);
  }

  // A stage of the calling thread has ended. bytes: what it moved. No lock once the thread has
  // called it before.
  void finished(Stage stage, TimePoint begin, TimePoint end, uint64_t bytes = 0);
  // Stage::read and Stage::decode of a sample that is known.
  void finished(Stage stage, TimePoint begin, TimePoint end, uint64_t bytes, SampleId sample);
  // A sample could not be used: once for each attempt, where skipped() counts the places in batches
  // that another sample had to fill. The reason must live as long as the meter.
  void failed(const char* reason);
  // A sample was replaced by another.
  void skipped(const char* reason);
  // A damaged sample was used all the same.
  void tolerated();
  // The calling thread reads samples until its worker() is destroyed.
  //   LoaderMeter::Worker worker(meter);
  //   while (...) {
  //     worker.set_busy(true);
  //     meter.finished(Stage::read, begin, end, bytes, sample);
  //     worker.set_busy(false);
  //   }
  class Worker {
   public:
    // Made and destroyed by the thread itself. `meter` outlives it.
    explicit Worker(LoaderMeter& meter);
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;
    // Whether it works on a sample, or waits for something to do.
    void set_busy(bool busy);

   private:
    LoaderMeter& meter_;
    bool busy_ = false;
  };
  // Begins a queue of a loader. It replaces an earlier one of that name. capacity: in batches. The
  // loader owns the meter; its figures go with it.
  std::shared_ptr<QueueMeter> add_queue(const std::string& name, int64_t capacity);

  // Where loaders that read records of a database themselves say what that costs. Lives as long as
  // the meter.
  RecordReadMeter& record_reads() { return record_reads_; }

  // Items / capacity of the queue before the trainer, now. Absent: the loader has none.
  std::optional<double> queue_fill() const;

  // How many stages were recorded, for the overhead.
  int64_t spans() const;

  // A reading. Its members may be of neighbouring moments.
  struct State {
    std::string split;
    // Threads that read now, and those of them that are not waiting.
    int64_t workers = 0;
    int64_t busy = 0;
    // By Stage, for all threads that ever took part.
    std::array<Tally::Totals, kStages> stages;
    // By reason: samples that could not be used, at every attempt, and places in batches that
    // another sample had to fill.
    std::map<std::string, int64_t> errors;
    std::map<std::string, int64_t> skipped;
    int64_t tolerated = 0;
    // The queues of the loaders that live now.
    std::vector<QueueMeter::State> queues;
    // Bytes that the block layer delivered to the reading threads; absent where the kernel does
    // not say.
    std::optional<uint64_t> storage_bytes;
    // Absent: nobody has read records of a database by record_reads().
    std::optional<RecordReadCosts> record_reads;

    // The totals of one stage.
    const Tally::Totals& of(Stage stage) const { return stages[static_cast<size_t>(stage)]; }
  };
  // Any thread. Asks the kernel for each reading thread's counters.
  State state() const;
  // The samples that took longest, slowest first; at most SlowSamples::kKept.
  std::vector<SlowSample> slowest(Stage stage) const;

 private:
  // What one thread counts.
  struct Tallies {
    std::array<Tally, kStages> stages;
    std::array<SlowSamples, 2> slow;  // read, decode
  };
  Tracer& tracer_;
  ThreadSlots<Tallies> tallies_;
  RecordReadMeter record_reads_;
  std::atomic<int64_t> busy_{0};
  mutable std::mutex mutex_;
  State state_;                        // the split, errors, skipped and tolerated
  std::map<pid_t, uint64_t> readers_;  // with what they had read before
  uint64_t ended_readers_bytes_ = 0;
  // False: the kernel did not say of some thread, so the sum means nothing.
  bool storage_known_ = true;
  std::map<std::string, std::weak_ptr<QueueMeter>> queues_;
};

}  // namespace stoker
