#pragma once

#include <c10/core/Stream.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "io/core/config/registry.h"
#include "io/core/system/memory.h"

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

}  // namespace stoker
