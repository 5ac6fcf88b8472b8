#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/core/batch.h"
#include "io/core/config/registry.h"
#include "io/core/device_copies.h"
#include "io/core/error.h"
#include "io/core/system/memory.h"
#include "io/decoder/decoder.h"
#include "io/metrics/clock.h"

namespace stoker {

// What a device is, for reports and for whoever builds the model. A value; constant for the
// device's life.
struct DeviceInfo {
  // "NVIDIA H200", "emulated k80", "AMD EPYC ..."
  std::string name;
  // Where parameters and batches live; emulated: meta.
  at::Device torch_device = at::kCPU;
  // No arithmetic is done, so the run has no loss and no accuracy.
  bool emulated = false;
  // Copies to the device exist (device_prefetched).
  bool own_memory = false;
  // How its busy time is known: "host", "events" or "emulated".
  std::string timing_method;
  // false: no step can be captured as a graph (training.cuda_graph).
  bool graphs = true;
};

// A batch on the device. A value that belongs to whoever runs the step; hold it until the step is
// submitted. On a device without memory of its own its tensors are views of the host slot and keep
// it. On others the device itself keeps the slot until the copy has ended.
struct DeviceBatch {
  // uint8 NHWC or float32 NCHW (PixelType) on info().torch_device. For frames, and for samples with
  // a target (SampleSpec), it has the bytes of their places as they are.
  at::Tensor images;
  // int64 [N] on the same device.
  at::Tensor labels;
  // The batch without on_device, and without pixels where own_memory.
  Batch host;
  // The device's own: when the copy is complete. Null: nothing has to be waited for.
  std::shared_ptr<void> ready;
  // Its step only evaluates, which takes another time than one of training does.
  bool evaluation = false;
};

// What joins the steps of several ranks, for a device that only keeps time. A value.
struct StepExchange {
  int64_t ranks = 1;
  uint64_t gradient_bytes = 0;
  // Told when this rank's step will have computed, waits until all ranks have submitted theirs, and
  // returns when the last of them will have. What it throws is passed on.
  std::function<TimePoint(TimePoint computed)> slowest;
};

// Where compute runs, and how its busy time is known. copy() may be called from one thread other
// than the rest, which belongs to the trainer's thread. Failures are Error(ExitCode::device).
class Device {
 public:
  static constexpr const char* kKind = "device";
  using Info = DeviceInfo;
  struct Inputs {
    // The run's seed. Emulated step times are functions of it.
    uint64_t seed;
    // Remarks for the user's log.
    Notify notify;
    // The number of this process among those of its machine. It says which GPU it takes if the
    // configuration names no GPU.
    int64_t local_rank = 0;
    // For a device that only keeps time: how its steps end if there are other ranks. `slowest` is
    // set before the first step. Null, or without `slowest`: there are no other ranks. It outlives
    // the device.
    const StepExchange* exchange = nullptr;
  };
  virtual ~Device() = default;

  // Any thread; valid as long as the device.
  virtual const DeviceInfo& info() const = 0;
  // Host memory that copy() reads at full speed (pinned for a GPU). Throws std::bad_alloc or
  // Error(ExitCode::device).
  virtual HostMemory allocate(size_t bytes) = 0;
  // The same as a value, which must not outlive the device.
  HostAllocator allocator() {
    return [this](size_t bytes) { return allocate(bytes); };
  }
  // Starts the copy of a batch on the copy queue and returns at once; copies end in the order in
  // which they began. `spec` gives the pixels' shape.
  virtual DeviceBatch copy(const Batch& batch, const SampleSpec& spec) = 0;
  // Submits one step, in order behind those before it and behind the batch's copy. `work` launches
  // it, on this thread, before run() returns; on an emulated device it is not called. Blocks only
  // while more steps are outstanding than the device's queue holds. `batch` may be null (work
  // without data). What `work` throws is passed on.
  virtual void run(const DeviceBatch* batch, const std::function<void()>& work) = 0;
  // The busy intervals of finished steps, in order, each handed out once. wait: until all are.
  virtual std::vector<BusyInterval> collect(bool wait) = 0;
};

template <>
Registry<Device>& Registry<Device>::global();

// Work that is recorded once and launched as a whole from then on (a CUDA graph). The trainer's
// thread, inside Device::run. Failures are Error(ExitCode::device).
class StepGraph {
 public:
  static constexpr const char* kKind = "step_graph";
  struct Inputs {
    // A GPU, with its index.
    at::Device device;
  };
  // Not while a replay is still running.
  virtual ~StepGraph() = default;
  // Records what `work` launches, without computing it. Tensors that `work` makes, gradients
  // included, have no values before a replay, and keep their memory as long as they live. Waits for
  // the work before it. Once per object.
  virtual void capture(const std::function<void()>& work) = 0;
  // Queues the recorded work behind what was launched before. It reads the same memory, with the
  // values of that time; random numbers go on as if `work` ran. Never waits.
  virtual void replay() = 0;
};

// Plug-ins register theirs; `cuda_graph` is the one that is looked for.
template <>
Registry<StepGraph>& Registry<StepGraph>::global();

// Error(ExitCode::config) for a device that is not a GPU, ExitCode::device without the plug-in.
std::unique_ptr<StepGraph> make_step_graph(at::Device device);

// What devices share: a batch's memory on the host, and how tensors see it. Any thread.

// A batch's pixels as a tensor sees them. A value.
struct BatchLayout {
  // NHWC; NCHW where the type is float32; frames, and values with a target behind them: N, bytes,
  // 1, 1.
  std::array<int64_t, 4> shape;
  // uint8, or float32 where the decoder has normalised.
  at::ScalarType type;
};
// The layout of a batch of `size` samples.
BatchLayout batch_layout(int64_t size, const SampleSpec& spec);

// The batch's pixels and labels as tensors over its own memory: no copy. The tensors keep the slot.
DeviceBatch view_batch(const Batch& batch, const SampleSpec& spec);
// The part of a batch on a device with memory of its own that is not on it (DeviceBatch::host):
// everything but the slot. The tensors are still to be filled in.
DeviceBatch without_slot(const Batch& batch);
// The same, with meta tensors: shapes without memory.
DeviceBatch shapes_of(const Batch& batch, const SampleSpec& spec);

// Copies of tensors on a device with streams (CUDA) to pinned host memory, on a stream of their
// own, so that steps go on meanwhile. `tensors` must be contiguous; the result keeps them. They
// must stay unchanged until wait(), or be changed only by work that is queued after fence(). The
// current stream of this call is the one whose work the copies wait for. Thread rule and contract:
// DeviceCopies'. What LibTorch throws is passed on.
std::shared_ptr<DeviceCopies> make_device_copies(at::Device device,
                                                 std::vector<at::Tensor> tensors);

}  // namespace stoker
