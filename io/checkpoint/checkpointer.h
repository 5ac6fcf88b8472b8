#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/checkpoint/loaded_state.h"
#include "io/checkpoint/snapshot.h"
#include "io/core/notify.h"
#include "io/core/registry.h"
#include "io/metrics/clock.h"
#include "io/storage/storage.h"

namespace stoker {

class CheckpointMeter;

// Where a run stands when it offers a checkpoint.
struct CheckpointOffer {
  int64_t step = 0;          // finished ones
  bool epoch_ended = false;  // and was evaluated where that was due
  int64_t epochs = 0;        // finished ones
  bool last = false;         // nothing follows: save in any case
};

// What has become of a run's checkpoints. Counts are of this process. What is absent was not
// measured.
struct CheckpointStatus {
  int64_t saved = 0;     // committed on the first tier
  int64_t failed = 0;    // given up after all attempts
  int64_t skipped = 0;   // on_backlog: skip
  int64_t replaced = 0;  // on_backlog: replace
  int64_t drained = 0;
  int64_t drain_retries = 0;
  int64_t drains_left = 0;              // sets that are on the fast tier only
  std::optional<int64_t> saved_step;    // newest on any tier
  std::optional<int64_t> durable_step;  // newest on the last tier
  uint64_t set_bytes = 0;
  std::vector<double> save_s;   // from offer to commit on the first tier
  std::vector<double> drain_s;  // from the begin of the copy to the commit on the last tier
  bool degraded = false;        // the last attempt on some tier failed
  bool hung = false;            // a thread is stuck in a system call; it cannot be joined
  std::string last_error;
};

// Saves and restores the state of a run. The trainer's thread, for all methods. Failures of tiers
// never leave save(): training goes on, and notify, status() and at the end the exit code say so.
class Checkpointer {
 public:
  static constexpr const char* kKind = "checkpoint";
  struct Inputs {
    const Tiers& tiers;
    std::string directory;            // where options name none
    std::vector<TensorInfo> tensors;  // of every state to be saved
    std::function<HostMemory(size_t)> allocate;
    // When a signal asked the process to end; from then on it has checkpoint.grace_seconds.
    std::function<std::optional<TimePoint>()> stop_requested;
    Notify info;
    Notify warn;
    CheckpointMeter* meter = nullptr;  // null: nobody watches
  };
  virtual ~Checkpointer() = default;

  // The state to begin with, as checkpoint.resume says: empty where there is none. Takes the newest
  // intact set of all tiers; damaged ones are set aside and named. Once, before the first save().
  // Error: a path that is no set, nothing intact left, sets of another run in the way.
  virtual std::optional<LoadedState> load() = 0;
  // Passes the news of the threads on to the log: call it every step. Saves what `state` returns
  // where a checkpoint is due. True: it has begun, and the tensors must
  // not change before finish_copy().
  virtual bool save(const CheckpointOffer& offer, const std::function<TrainingState()>& state) = 0;
  // Blocks until no copy reads the tensors any more (on a GPU: makes the device wait instead).
  virtual void finish_copy() = 0;
  // Waits until everything is durable on its last tier, but no longer than a requested stop allows,
  // nor where nothing moves for hang_seconds. False: something is left.
  virtual bool flush() = 0;
  virtual CheckpointStatus status() = 0;
};

template <>
Registry<Checkpointer>& Registry<Checkpointer>::global();

}  // namespace stoker
