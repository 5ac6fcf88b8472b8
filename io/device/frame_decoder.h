#pragma once

#include <c10/core/Stream.h>

#include <cstdint>
#include <memory>
#include <span>

#include "io/core/memory.h"
#include "io/core/registry.h"

namespace stoker {

// A JPEG file in host memory and where its pixels belong on the device: rows of interleaved RGB
// without padding, in the size of its header. A value; the file must stay until it is decoded.
struct EncodedImage {
  Bytes file;
  int64_t width = 0;
  int64_t height = 0;
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
  // Queues the decoding of all images on `stream`; the files must stay until it is done. May wait
  // for the decoding of an earlier batch. Sets elements of `refused` for images that it does not
  // decode; the caller decodes those.
  virtual void decode(std::span<const EncodedImage> images, const c10::Stream& stream,
                      std::span<bool> refused) = 0;
};

template <>
Registry<FrameDecoder>& Registry<FrameDecoder>::global();

}  // namespace stoker
