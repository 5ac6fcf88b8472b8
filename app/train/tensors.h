#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "app/train/step.h"
#include "io/checkpoint/checkpointer.h"
#include "models/optimizers/back_buffer.h"

namespace stoker {

// All tensors that the course of a training depends on, by name: "model.<parameter or buffer>",
// "optimizer.<parameter>.<state>", "rng.cpu", "rng.cuda". The names and their order are part of a
// checkpoint's format. Shares the tensors' memory with the step. The trainer's thread.
class TrainingTensors {
 public:
  // device: whose random generator counts beside the CPU's.
  TrainingTensors(const TrainStep& step, at::Device device);

  // For Checkpointer::Inputs; the order of every state.
  std::vector<TensorInfo> infos() const;
  // The tensors of a state, as they are now. Parameters and the optimizer's are only pointed to:
  // they change in the next update. Buffers change in the next forward already (batch
  // normalisation), so they are copied here, as are tensors whose memory is not in row-major order.
  void capture(TrainingState& state) const;
  // The back buffer into which the next update moves parameters and the optimizer's values, as
  // Checkpointer::finish_copy() asks for. From now on capture() copies all other tensors.
  std::unique_ptr<BackBuffer> back_buffer(const StatePlaces& places);
  // Writes a saved state into all of them, with `threads` threads. Error(ExitCode::config): the
  // checkpoint is that of another model or optimizer, with the first difference; some tensors may
  // be overwritten by then.
  void restore(const LoadedState& loaded, int64_t threads) const;

 private:
  struct Entry {
    std::string name;
    // Undefined for a random generator's state, which is asked for anew each time.
    at::Tensor tensor;
    // It changes already in the next forward pass, not in the next update.
    bool changes_early = false;
    // The update may write it to a back buffer.
    bool in_back_buffer = false;
  };
  // A parameter's memory, or a copy of a generator's state.
  at::Tensor current(const Entry& entry) const;
  void put_back(const Entry& entry, const at::Tensor& value) const;
  void restore(const Entry& entry, const LoadedState& loaded, size_t index, int64_t threads) const;

  const at::Device device_;
  std::vector<Entry> entries_;
  bool moving_ = false;  // back_buffer() was called
};

// The tensors of model and optimizer, which have to be equal on all ranks.
std::vector<at::Tensor> state_tensors(const TrainStep& step);
// XXH3-64 of the values in their order. Copies what is not in the host's memory.
uint64_t state_digest(const std::vector<at::Tensor>& tensors);

}  // namespace stoker
