#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/base/command_line.h"
#include "app/experiment/experiment.h"
#include "app/tools/bench/bench_tier.h"
#include "app/tools/bench_checkpoint/bench_checkpoint.h"
#include "app/train/step.h"
#include "app/train/tensors.h"
#include "io/core/error.h"

namespace stoker {

// `stoker bench checkpoint` without a shape: saves and loads the state of the experiment's model
// and optimizer, in a directory of its own on each of its tiers, which is removed. Beside them it
// measures a plain copy of as many bytes in memory, and the tiers by themselves. Prints the times.
// One thread. Throws Error, with ExitCode::config for checkpoint.type none and ExitCode::storage
// where a save fails; IoError.
ExitCode bench_model_checkpoint(const CheckpointBenchArguments& arguments);

// `stoker bench checkpoint --loop`: what a save costs a training. Steps of step_ms in which the
// thread sleeps, as one does that waits for an accelerator, each followed by an update of the
// experiment's optimizer; in every other group of `every` steps a save stands before the first
// update. Prints how the times are distributed over all rounds: the stall of a save, a plain copy
// of as many bytes in the same round, updates, and what a group with a save took longer than that
// without in the same round. One thread beside the loader's. Throws as bench_model_checkpoint().
ExitCode bench_checkpoint_loop(const CheckpointBenchArguments& arguments);

// The seconds that `work` takes.
double timed(const std::function<void()>& work);

// Copies as many bytes as a set has, in the device's host memory, which is faulted in, with one
// thread or with all of them, whichever is faster here. One thread.
class MemcpyBaseline {
 public:
  MemcpyBaseline(Device& device, uint64_t bytes, int64_t threads);
  // Seconds that one copy takes.
  double seconds() const { return seconds(threads_); }
  Bytes bytes() const { return {from_.data.get(), from_.bytes}; }
  // The same memory, for other use between two copies.
  Room room() const { return {from_, to_}; }

 private:
  double seconds(int64_t threads) const;

  HostMemory from_;
  HostMemory to_;
  int64_t threads_ = 1;
};

// A model whose state is saved and loaded, with gradients for an update, in a directory of its own
// on each tier. The destructor removes that. One thread.
class SavedModel {
 public:
  // The experiment with such a directory. Error(ExitCode::config) where checkpoint.type is none.
  static ExperimentOptions options(const ConfigArguments& arguments);
  explicit SavedModel(const ExperimentOptions& options);

  Device& device() { return experiment_.device(); }
  Experiment& experiment() { return experiment_; }
  Checkpointer& checkpointer() { return *checkpointer_; }
  Storage& tier(const std::string& name) { return experiment_.tiers().at(name); }
  const std::string& directory() const { return directory_; }

  // Returns when the tensors may change. Where they are to change in other memory, it returns the
  // back buffer for that, which has to be finished before the next save.
  std::unique_ptr<BackBuffer> save(int64_t step);
  // The optimizer's update. back: may be null.
  void update(BackBuffer* back) { step_.update(0, back); }
  // Waits for what was saved. Error(ExitCode::storage) where that has failed.
  void flush();

 private:
  const std::string directory_;
  Experiment experiment_;
  std::vector<std::unique_ptr<BenchFolder>> folders_;
  TrainStep step_;
  TrainingTensors tensors_;
  std::vector<std::string> warnings_;
  std::unique_ptr<Checkpointer> checkpointer_;
};

}  // namespace stoker
