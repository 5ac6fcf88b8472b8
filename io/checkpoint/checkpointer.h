#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/checkpoint/restoring/loaded_state.h"
#include "io/checkpoint/saving/snapshot.h"
#include "io/core/config/registry.h"
#include "io/core/error.h"
#include "io/core/ranks/rank_group.h"
#include "io/metrics/clock.h"
#include "io/metrics/run_facts.h"
#include "io/storage/storage.h"

namespace stoker {

class CheckpointMeter;
class InputWait;

// Where a run stands when it offers a checkpoint. A value. Every step is offered; whether one is
// taken is the checkpointer's decision.
struct CheckpointOffer {
  int64_t step = 0;          // finished ones
  bool epoch_ended = false;  // and was evaluated where that was due
  int64_t epochs = 0;        // finished ones
  bool last = false;         // nothing follows: save in any case
  // For every_seconds: the time now, by one clock for all processes that save together.
  TimePoint now = Clock::now();
  // The state may be another than when this step was saved: it takes the place of that set.
  bool again = false;
};

// What has become of a run's checkpoints so far, for the run's record and its summary. A value.
// Times in seconds, one for each set in the order in which they ended.
struct CheckpointStatus : CheckpointReport {
  std::vector<double> save_s;   // from offer to commit on the first tier
  std::vector<double> drain_s;  // from the begin of the copy to the commit on the last tier
  bool hung = false;            // a thread is stuck in a system call; it cannot be joined
  int64_t saves_left = 0;       // that are neither committed nor lost yet
};

// What becomes of checkpoints, as the options say it (Component<Checkpointer>::info).
struct CheckpointerInfo {
  bool saves = true;                      // false: there are none
  std::vector<std::string> tiers = {};    // where sets may lie
  std::vector<std::string> written = {};  // those of them that are written to, first to last
  std::string directory = {};             // below each tier's root; empty: the run's name
  std::string snapshot = {};              // SnapshotMode's name; empty: not said
  std::string durability = {};            // "fsync" or "none"; likewise
  int64_t threads = 1;                    // that copy and write
  int64_t readers = 1;                    // that read a set back
  // Whether a run may go on from a set whose classes had other names.
  bool renamed_classes = false;
  // From a request to stop to the end of the process.
  double grace_seconds = 30;
  // Without an answer of a tier, until nobody waits for it any longer.
  double hang_seconds = 60;
};

// Saves and restores the state of a run. The trainer's thread, for all methods.
//
// Failures of tiers never leave save(): training goes on, and notify, status() and in the end the
// exit code (ExitCode::storage) say so.
//
// The calls of a run: finish_copy() and load() once; then, for every step, save(), and before the
// tensors change again finish_copy() where save() said true; flush() once, at the end. A set is
// committed or not there at all, whenever the process dies.
class Checkpointer {
 public:
  static constexpr const char* kKind = "checkpoint";
  using Info = CheckpointerInfo;
  // What a checkpointer is built with, beside its options. Everything that it refers to must
  // outlive it.
  struct Inputs {
    const Tiers& tiers;
    std::string directory;            // for options that name no directory
    std::vector<TensorInfo> tensors;  // of every state to be saved
    // Memory for snapshots, from which the device copies at full speed.
    HostAllocator allocate;
    // When a signal asked the process to end; from then on it has checkpoint.grace_seconds.
    std::function<std::optional<TimePoint>()> stop_requested;
    // The user's log; both are called on the trainer's thread.
    Notify info;
    Notify warn;
    CheckpointMeter* meter = nullptr;  // null: nobody watches
    // The processes that save and restore with this one. All offer the same steps of the same
    // state.
    RankGroup& group = alone();
    // How long training waits for its data, for drains that give way to it. Null: nobody trains.
    const InputWait* input = nullptr;
    // What of `tensors` each process of the group has. Empty: all have all of it.
    std::vector<TensorShare> shares = {};
    // The step of a set that somebody else has read, and from which the run goes on; -1: it begins
    // afresh. load() reads none then, and sets newer ones aside.
    std::optional<int64_t> goes_on_from = {};
  };
  virtual ~Checkpointer() = default;

  // The state to begin with, as checkpoint.resume says. Empty: the run begins at step 0. Takes the
  // newest intact set of all tiers; damaged ones are set aside and named. Once, before the first
  // save(), until which the result is valid: it may lie in snapshot memory. Error: a path that is
  // no set, nothing intact left, sets of another run in the way.
  virtual std::optional<LoadedState> load() = 0;
  // Call it every step: it also passes the threads' news on to the log. Saves what `state` returns
  // where a checkpoint is due. True: a copy has begun, and the tensors must not change before
  // finish_copy().
  virtual bool save(const CheckpointOffer& offer, const std::function<TrainingState()>& state) = 0;
  // Blocks until no copy reads the tensors any more (on a GPU: makes the device wait instead).
  // snapshot: swap: returns where the tensors are to be from now on, and must no more change where
  // they are; or be kept by TrainingState::keep whenever they are saved. Empty: they stay.
  virtual std::optional<StatePlaces> finish_copy() = 0;
  // Waits until everything is durable on its last tier, but not beyond a requested stop's grace,
  // nor where nothing moves for hang_seconds. False: something is left. Once, at the end.
  virtual bool flush() = 0;
  // What happened until now. Cheap: no tier is asked.
  virtual CheckpointStatus status() = 0;
};

template <>
Registry<Checkpointer>& Registry<Checkpointer>::global();

}  // namespace stoker
