#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "io/checkpoint/checkpoint_options.h"
#include "io/checkpoint/checkpointer.h"
#include "io/checkpoint/restoring/loaded_state.h"
#include "io/checkpoint/saving/progress_watch.h"
#include "io/checkpoint/saving/set_committer.h"
#include "io/checkpoint/saving/snapshot.h"
#include "io/core/ranks/rank_group.h"
#include "io/metrics/checkpoint_meter.h"

namespace stoker {

// From a state in the trainer's memory to a committed set on the first tier: snapshot buffers
// (slots), a thread that copies into them, and one that makes sets of them. The trainer's thread
// calls; the hooks are called on the writing thread. Store and group must outlive it.
//
// Each process of the group has a saver, and offers it the same steps.
class Saver {
 public:
  // What the saver asks and tells its owner. They are called without its mutex, may block only as
  // the tier does, and must not call back. meter must outlive the saver.
  struct Hooks {
    // The tier is full. True: something was removed, and another attempt may succeed.
    std::function<bool()> make_room;
    // Every job that was begun and not replaced ends by one of these.
    std::function<void(const SaveResult&)> done;
    ProgressWatch::Deadline deadline;  // of the process, once it is known
    CheckpointMeter* meter = nullptr;  // may be null
  };
  // What begin() did: took a slot; left this checkpoint out; took the slot of one that waited to be
  // written; gave up, as a thread hangs.
  enum class Begun { yes, skipped, replaced_another, hung };

  // Allocates options.slots snapshot buffers by `allocate` (SnapshotMode::swap: one more, where the
  // state lives; one of options.staging_memory, where that is less than this process saves) and
  // starts both threads.
  Saver(SetStore& store, const SetLayout& layout, const CheckpointOptions& options,
        const HostAllocator& allocate, Hooks hooks, RankGroup& group);
  // Gives up what is not committed yet and joins the threads.
  ~Saver();

  // The memory of the slots, for load() to use before the first begin().
  Room room();
  // Takes a slot as `backlog` says, and begins to copy `state()` into it, which is called only
  // where there is a slot; what it throws leaves begin(), and the slot is free again. What the
  // state points to must not change before finish_copy() has returned, and must live until then (or
  // for as long as state.keep does). replaces: a set of the step, where one is there.
  Begun begin(const std::function<TrainingState()>& state, Backlog backlog, bool replaces);
  // This process leaves a checkpoint out that the others may write: so do they then.
  void skip(int64_t step);
  // Takes part in the copy, and waits until it reads the state no more. Where the state is on a
  // device: makes the device's later work wait instead, and returns. With staging_memory: waits
  // while the tier takes what does not fit, and gives the save up where that hangs or time is up.
  // SnapshotMode::swap: waits for nothing, and returns where the state is to be from now on; first
  // of all, and after every begin(). It may be called by begin()'s `state`, where that is not done
  // yet.
  std::optional<StatePlaces> finish_copy();
  // Waits until everything begun is committed or has failed. False: it hangs, or time is up.
  bool finish_write();
  // How many of these there are.
  int64_t left();
  // One of its threads is stuck in a system call of a tier.
  bool hung();

 private:
  using Queue = std::deque<std::unique_ptr<SaveJob>>;

  // Asks both threads to end.
  void stop();
  bool wait_for_slot(std::unique_lock<std::mutex>& lock, Backlog backlog, Begun& begun);
  void finish_staged(Snapshot& staged);
  void copy(SaveJob& job);
  void copy_loop();
  void write_loop();
  void measured(CheckpointPart part, TimePoint begin, const SaveJob& job) const;
  std::unique_ptr<SaveJob> take(Queue& queue);

  const SetLayout layout_;
  const CheckpointOptions options_;
  const int64_t threads_;
  const Hooks hooks_;
  const FileRange own_;
  ProgressWatch watch_;
  std::atomic<bool> stop_{false};
  const bool alone_;
  SetCommitter committer_;  // the writing thread's
  // The trainer's thread:
  std::shared_ptr<DeviceCopies> on_device_;  // of the state begun last
  Snapshot* copying_ = nullptr;              // into which the state begun last is copied
  Snapshot* staged_ = nullptr;               // likewise, where it is staged
  std::unique_ptr<Snapshot> home_;           // swap: where the state lives, or is about to move to
  bool moves_ = false;                       // swap: it is about to
  // Under the watch's mutex:
  std::vector<std::unique_ptr<Snapshot>> free_;
  Queue to_copy_;
  Queue to_write_;
  int64_t uncopied_ = 0;          // jobs that the copier has not done with
  Snapshot* streamed_ = nullptr;  // the copier copies into it, and the writer has its job
  int64_t unwritten_ = 0;
  std::jthread copier_;  // last: joined before anything they use goes
  std::jthread writer_;
};

}  // namespace stoker
