#pragma once

#include <c10/core/Stream.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <semaphore>

#include "io/device/device.h"
#include "io/device/frame_upload.h"

namespace stoker {

// Queues a wait on a stream, which ends when the gate is released, or some time later than a launch
// takes. False: it cannot. The gate lives until the stream has got there.
using HoldStream = std::function<bool(const c10::Stream&, std::binary_semaphore& gate)>;

// A device with streams and events of its own, through c10's device-generic classes, so that no
// CUDA header is needed; stream_device.cpp says how its steps are timed. Thread rule: Device's.
// info.torch_device names it, with an index, and its guard is registered with LibTorch.
// queue_depth: steps that may be outstanding, at least 1. `allocate` gives pinned host memory; it
// is called by the thread that copies, too. `make_decoder` is asked when the first encoded frame
// comes; it throws if the device has no decoder. `hold` may be null: then gaps within steps are
// known only while the host is ahead (LaunchGaps). What c10 throws is passed on, as the caller
// knows which device it is.
std::unique_ptr<Device> make_stream_device(
    DeviceInfo info, int64_t queue_depth, HostAllocator allocate,
    std::function<std::unique_ptr<FrameDecoder>()> make_decoder, HoldStream hold);

}  // namespace stoker
