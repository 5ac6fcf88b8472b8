#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/core/batch.h"
#include "io/core/config/registry.h"
#include "io/core/error.h"
#include "io/core/system/memory.h"
#include "io/decoder/decoder.h"

namespace stoker {

// A JPEG file in host memory and where its pixels belong on the device: rows of interleaved RGB
// without padding, in the size of its header. A value; the file must stay until it is decoded.
struct EncodedImage {
  // Pinned, so that it can be read while the caller goes on.
  Bytes file;
  // As the file's header says, without EXIF's orientation.
  int64_t width = 0;
  int64_t height = 0;
  // On the device: 3 * width * height bytes.
  uint8_t* to = nullptr;
};

// Decodes JPEG files on the device. One thread at a time: the one that copies. Made by plug-ins;
// the program looks for the one that is registered as `nvjpeg`. Failures are
// Error(ExitCode::device).
class FrameDecoder {
 public:
  static constexpr const char* kKind = "frame_decoder";
  struct Inputs {};
  virtual ~FrameDecoder() = default;
  // By which parts of the device, for people.
  virtual std::string description() const = 0;
  // Queues the decoding of all images on `stream`; files and destinations must stay until it is
  // done. May wait for the decoding of an earlier batch. `refused` has an element for each image,
  // false at first; it is set for those that are not decoded, and the caller decodes them. Damage
  // that shows later is an error of the stream.
  virtual void decode(std::span<const EncodedImage> images, const c10::Stream& stream,
                      std::span<bool> refused) = 0;
};

template <>
Registry<FrameDecoder>& Registry<FrameDecoder>::global();

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
