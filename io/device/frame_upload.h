#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <vector>

#include "io/core/batch.h"
#include "io/core/error.h"
#include "io/decoder/decoder.h"
#include "io/device/frame_decoder.h"

namespace stoker {

// Brings batches of frames to a device with streams: only the used bytes of each; encoded ones are
// decoded by the device on the way. One thread at a time: the one that copies.
//
// On the device there is then one tensor of bytes that starts with the headers, 64 bytes each;
// their offsets lead to the pixels behind them. All are of kind pixels.
class FrameUpload {
 public:
  // `allocate`: pinned host memory. `make_decoder`: asked once, when the first encoded frame comes;
  // what it throws, start() throws.
  FrameUpload(at::Device device, HostAllocator allocate,
              std::function<std::unique_ptr<FrameDecoder>()> make_decoder);

  // Copies that are under way.
  struct Started {
    // Bytes on the device: headers, then pixels. Each begins at a multiple of 128 bytes.
    at::Tensor frames;
    // With the batch's own slot, until the stream has got there.
    std::vector<HostMemory> keep;
  };
  // Queues everything on `stream`, which is the current one, and returns. The batch's slot is read
  // until the stream has got there, also after an exception. Error(ExitCode::data): an encoded
  // frame is damaged.
  Started start(const Batch& batch, const SampleSpec& spec, const c10::Stream& stream);

 private:
  // The frames `encoded` of the batch, by the device where it can, else here.
  void decode(const Batch& batch, const std::vector<int64_t>& encoded, const SampleSpec& spec,
              const c10::Stream& stream, Started& started);

  const at::Device device_;
  const HostAllocator allocate_;
  const std::function<std::unique_ptr<FrameDecoder>()> make_decoder_;
  std::unique_ptr<FrameDecoder> decoder_;
};

// The error for an encoded frame whose damage shows only on the device. It names the place in the
// batch, because the file's name is not known any more. ExitCode::data.
Error damaged_frame(const Batch& batch, int64_t place, const BadSample& bad);

}  // namespace stoker
