#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "io/checkpoint/checkpoint_options.h"
#include "io/checkpoint/drain/drain_pace.h"
#include "io/checkpoint/restoring/locate.h"
#include "io/checkpoint/saving/progress_watch.h"
#include "io/checkpoint/sets/set_store.h"
#include "io/metrics/checkpoint_meter.h"

namespace stoker {

// Copies committed sets from the fast tier to the slow one and verifies them, oldest first; one
// that failed goes to the end of the queue. On a thread of its own that yields to everybody else
// (idle I/O class, lowest CPU priority). Any thread may call; hooks are called on the drain's own.
//
// What it has not copied when the process ends is still on the fast tier, and the next process goes
// on with it. The stores and the group must outlive it.
//
// Each process of the group has a drain, and gives it the same steps in the same order. Each copies
// the files that it sees into one set, which the first commits; what fails on one has failed on
// all.
class Drain {
 public:
  // What the drain tells its owner, on its own thread and without its mutex. They must not call
  // back, but for add().
  struct Hooks {
    // A set is committed and verified on the slow tier. begin: when this attempt began; remark: how
    // fast it went and why, for the log.
    std::function<void(int64_t step, TimePoint begin, const std::string& remark)> done;
    // An attempt failed; `again`: there will be another.
    std::function<void(int64_t step, const std::string& error, bool again)> failed;
    // The slow tier was absent at the start and is there now.
    std::function<void()> appeared;
    ProgressWatch::Deadline deadline;
    DrainPace::Inputs pace;
  };
  // Starts the thread, which waits for add().
  Drain(SetStore& from, SetStore& to, const CheckpointOptions& options, Hooks hooks,
        RankGroup& group);
  // Gives up a copy at its next piece (reading it back is finished first), and joins the thread.
  ~Drain();

  // Queues a set that is committed on the fast tier. Returns at once.
  void add(int64_t step);
  // Sets that are queued or being copied.
  int64_t left();
  // Waits until nothing is left, without pauses between attempts; gives up after three that failed
  // in a row. False: something is left.
  bool flush();
  // Its thread is stuck in a system call of a tier.
  bool hung();

 private:
  void run();
  void agree(int64_t& step);
  bool attempt(int64_t& step);
  bool replaced(int64_t step);
  void copy(int64_t step);
  bool is_there(const Manifest& manifest) const;
  double bytes_to_move(const LocatedSet& set);
  void verify(const LocatedSet& set);
  [[noreturn]] void damaged(int64_t step, bool was_there, const Error& error);
  void copy_files(const LocatedSet& set);
  void copy_own(const Manifest& manifest, const std::vector<size_t>& files, SetWriter& writer);
  void write(SetWriter& writer, size_t file, uint64_t offset, Bytes bytes);
  void passed(uint64_t bytes);
  void wait_for_sets(std::unique_lock<std::mutex>& lock);
  void pause(int failures);

  SetStore& from_;
  SetStore& to_;
  const CheckpointOptions options_;
  const Hooks hooks_;
  DrainPace pace_;
  ProgressWatch watch_;
  std::atomic<bool> stop_{false};
  Collective collective_;  // the thread's
  bool absent_ = false;    // the slow tier was, and what is on it is not known yet; its thread only
  // Under the watch's mutex:
  std::deque<int64_t> queue_;  // with the one being copied
  int failures_ = 0;           // in a row
  bool flushing_ = false;
  std::jthread thread_;  // last: joined before anything it uses goes
};

}  // namespace stoker
