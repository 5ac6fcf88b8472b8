#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "io/metrics/clock.h"
#include "io/metrics/thread_slots.h"

namespace stoker {

// Something that took from `begin` to `end`. A value. The texts must live as long as the tracer.
struct TraceEvent {
  // What was done: "decode", "read", "data_wait".
  const char* name;
  // Who did it: "loader", "trainer", "device", "checkpoint", "storage"; "file": on a file.
  const char* category;
  TimePoint begin;
  TimePoint end;
  // What it moved; 0: nothing.
  uint64_t bytes = 0;
  // The step that it belongs to, counted from 1; -1: none.
  int64_t step = -1;
  // The tier, for an event "storage".
  const char* tier = nullptr;
  // The place in the file, for an event "file". -1: it has no place.
  int64_t offset = -1;
};

// Events of one thread, or of one engine of the device, in the order in which they ended. A value.
inline constexpr int64_t kFileRow = -1000;
struct TraceRow {
  // The kernel's number of the thread. Engines of the device have numbers below 0: -1, -2, ... in
  // the order of their first events. All files have kFileRow; their names tell them apart.
  int64_t id;
  std::string name;
  std::vector<TraceEvent> events;
  size_t slot = SIZE_MAX;  // of the thread: its number, which the next one gets when it has ended
};

// Single events with their times, for sinks that want them. If no sink does, an event costs one
// relaxed load. Each thread keeps its events, up to a limit beyond which they are dropped and
// counted, and a thread of the tracer hands them to the subscribers several times a second. Any
// thread.
//
// Events reach a consumer row by row: those of one thread in their order, those of different
// threads in any order. An event belongs to the window in which it began.
//
//   auto events = tracer.subscribe({0, 200}, [&](const TraceRow& row) { write(row); });
//   ...
//   events->deliver();  // throws what the consumer threw
//   events.reset();     // from here on the consumer is not called any more
class Tracer {
 public:
  // Finished steps after which a subscriber begins to get events, and how many steps long.
  struct Window {
    int64_t first_step = 0;
    int64_t steps = INT64_MAX;
  };
  // Called while no lock of a recording thread is held, so it may take long: then events may be
  // dropped.
  using Consumer = std::function<void(const TraceRow&)>;  // called on one thread at a time

  // Gets the events that begin inside its window, however late they end, until it is destroyed; the
  // destructor hands on those that ended before. It must not outlive the tracer. After an exception
  // of the consumer it gets no more events, and the next deliver() throws that exception.
  class Subscription {
   public:
    ~Subscription();
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;
    // Now, and not when the tracer's thread wakes next.
    void deliver();

   private:
    friend class Tracer;
    Subscription(Tracer& tracer, Window window, Consumer consumer)
        : tracer_(tracer), window_(window), consumer_(std::move(consumer)) {}
    Tracer& tracer_;
    const Window window_;
    const Consumer consumer_;
    TimePoint from_ = TimePoint::max();  // of its window, once that has begun
    TimePoint to_ = TimePoint::max();
    bool failed_ = false;  // the consumer threw
    std::exception_ptr error_;
  };

  // Starts no thread.
  Tracer();
  // All subscriptions are gone by then.
  ~Tracer();

  // Begins with the next step that lies in the window, at once where first_step is already
  // finished. The first subscription starts the tracer's thread. Any thread.
  std::unique_ptr<Subscription> subscribe(Window window, Consumer consumer);
  // Is a window open?
  bool active() const { return wanted(TimePoint::max() - Clock::duration(1)); }

  // Adds an event to the row of the calling thread, unless no window was open when it began. A lock
  // of the thread's own, and an allocation now and then.
  void record(const TraceEvent& event) {
    if (wanted(event.begin)) keep(event);
  }
  // Adds it to a row of its own, as for the device. One thread at a time per row.
  void record(const char* row, const TraceEvent& event);
  // Adds whole rows, if their events are known only afterwards. It has no limit, as the caller
  // holds all of them. Those that began outside of the windows are left out. Any thread.
  void add(std::vector<TraceRow> rows);
  // Says how many steps are finished, which opens and closes windows. The trainer's thread. Never
  // less than the call before.
  void at_step(int64_t finished);

  // Events that were kept, and those that came while their thread's store was full, since the
  // tracer was made. Any thread.
  int64_t recorded() const { return recorded_.load(); }
  int64_t dropped() const { return dropped_.load(); }

 private:
  struct Rows {
    std::mutex mutex;
    std::vector<TraceRow> rows;  // the last is the thread's that has the slot now
    // Events in all rows, against the limit.
    size_t kept = 0;
  };

  bool wanted(TimePoint begin) const {
    return begin.time_since_epoch().count() < until_.load(std::memory_order_relaxed);
  }
  // Finds out what is wanted from now on.
  void update_windows();
  void keep(const TraceEvent& event);
  void keep(Rows& rows, const TraceEvent& event);
  void deliver();
  // Takes all events that were kept so far.
  std::vector<TraceRow> take();
  // The tracer's thread.
  void run();

  static constexpr Clock::rep kNever = Clock::duration::min().count();
  std::atomic<Clock::rep> until_{kNever};  // events that begin later are not wanted
  std::atomic<int64_t> recorded_{0};
  std::atomic<int64_t> dropped_{0};
  ThreadSlots<Rows> threads_;
  std::mutex engines_mutex_;
  std::map<std::string, Rows> engines_;
  std::vector<TraceRow> added_;  // under engines_mutex_, too

  std::mutex delivery_;  // held while consumers are called; before mutex_
  std::mutex mutex_;
  int64_t finished_ = 0;
  std::vector<Subscription*> subscriptions_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::jthread thread_;  // runs from the first subscription on; last, as it uses the rest
};

}  // namespace stoker
