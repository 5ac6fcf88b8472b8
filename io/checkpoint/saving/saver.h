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
#include "io/checkpoint/saving/snapshot.h"
#include "io/checkpoint/sets/collective.h"
#include "io/checkpoint/sets/set_store.h"
#include "io/metrics/checkpoint_meter.h"

namespace stoker {

// How one save ended: committed on the first tier, or not. A value.
struct SaveResult {
  int64_t step = 0;
  std::optional<double> score;
  TimePoint offered;
  double seconds = 0;  // from the offer

  std::string error;     // empty: committed
  bool skipped = false;  // by another process of the group
};

// From a state in the trainer's memory to a committed set on the first tier: snapshot buffers
// in memory, a thread that copies into them and one that writes them. The trainer's thread calls;
// `done` and `make_room` are called on the writing thread. Store, layout and group must outlive it.
//
// Each process of the group has a saver, and offers it the same steps. Each writes its own files to
// its own store; when all are durable, all but the first rename their sets, then it: that commits
// the set. Where the store is shared, all write into one set, and the first renames it. What fails
// on one process has failed on all.
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
  // state lives) and starts both threads.
  Saver(SetStore& store, const SetLayout& layout, const CheckpointOptions& options,
        const HostAllocator& allocate, Hooks hooks, RankGroup& group);
  // Gives up what is not committed yet and joins the threads.
  ~Saver();

  // The memory of the slots, for load() to use before the first begin().
  Room room();
  // Takes a slot as `backlog` says, and begins to copy `state()` into it, which is called only
  // where there is a slot. What the state points to must not change before finish_copy() has
  // returned, and must live until then (or for as long as state.keep does).
  Begun begin(const std::function<TrainingState()>& state, Backlog backlog);
  // This process leaves a checkpoint out that the others may write: so do they then.
  void skip(int64_t step);
  // Takes part in the copy, and waits until it reads the state no more. Where the state is on a
  // device: makes the device's later work wait instead, and returns. SnapshotMode::swap: waits for
  // nothing, and returns where the state is to be from now on; first of all, and after every
  // begin(). It may be called by begin()'s `state`, where that is not done yet.
  std::optional<StatePlaces> finish_copy();
  // Waits until everything begun is committed or has failed. False: it hangs, or time is up.
  bool finish_write();
  // One of its threads is stuck in a system call of a tier.
  bool hung();

 private:
  // A save on its way: a slot, and the state that is copied into it. Without a slot: skipped here.
  struct Job {
    std::unique_ptr<Snapshot> slot;
    TrainingState state;
    TimePoint offered;
    std::string error = {};  // of the copy
  };
  using Queue = std::deque<std::unique_ptr<Job>>;

  // Asks both threads to end.
  void stop();
  bool wait_for_slot(std::unique_lock<std::mutex>& lock, Backlog backlog, Begun& begun);
  void copy_loop();
  void write_loop();
  SaveResult write(const Job& job);
  void measured(CheckpointPart part, TimePoint begin, const Job& job) const;
  void write_once(const Job& job, int attempt);
  Manifest write_part(const Job& job, const std::string& set, std::unique_ptr<SetWriter>& writer);
  PartSums write_own(const Job& job, SetWriter& writer);
  // Does it; where the tier is full and no room can be made, there is no use in trying again.
  std::string or_make_room(const std::function<std::string()>& work) const;
  // As the files of `writer`, by their numbers: in pieces of kChunkBytes, by all threads; where it
  // takes them in order only, each file by one.
  void write_files(const std::vector<Bytes>& files, SetWriter& writer);
  std::unique_ptr<Job> take(Queue& queue);

  SetStore& store_;
  const SetLayout layout_;
  const CheckpointOptions options_;
  const int64_t threads_;
  const Hooks hooks_;
  const std::string writer_id_;
  const FileRange own_;
  ProgressWatch watch_;
  std::atomic<bool> stop_{false};
  Collective collective_;  // the writing thread's
  // The trainer's thread:
  std::shared_ptr<DeviceCopies> on_device_;  // of the state begun last
  Snapshot* copying_ = nullptr;              // into which the state begun last is copied
  std::unique_ptr<Snapshot> home_;           // swap: where the state lives, or is about to move to
  bool moves_ = false;                       // swap: it is about to
  // Under the watch's mutex:
  std::vector<std::unique_ptr<Snapshot>> free_;
  Queue to_copy_;
  Queue to_write_;
  int64_t uncopied_ = 0;  // jobs that the copier has not handed over
  int64_t unwritten_ = 0;
  std::jthread copier_;  // last: joined before anything they use goes
  std::jthread writer_;
};

}  // namespace stoker
