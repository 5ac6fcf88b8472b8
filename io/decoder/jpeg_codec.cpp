#include "io/decoder/jpeg_codec.h"

#include <fmt/format.h>
#include <turbojpeg.h>

#include <new>
#include <utility>

#include "io/core/error.h"

namespace stoker {
namespace {

// Adobe stores 255 - ink, T.81 itself knows no CMYK: everybody else stores ink.
void cmyk_to_rgb(const uint8_t* cmyk, size_t pixels, bool inverted, uint8_t* rgb) {
  const uint8_t mask = inverted ? 0 : 255;
  for (size_t i = 0; i < pixels; ++i, cmyk += 4) {
    const int light = cmyk[3] ^ mask;
    for (int c = 0; c < 3; ++c) {
      *rgb++ = static_cast<uint8_t>(((cmyk[c] ^ mask) * light + 127) / 255);
    }
  }
}

}  // namespace

JpegCodec::JpegCodec(Tolerance tolerance) : tolerance_(tolerance), handle_(nullptr, tjDestroy) {
  open();
}

void JpegCodec::open() {
  handle_.reset(tjInitDecompress());
  if (!handle_) throw std::bad_alloc();
}

void JpegCodec::decode(Bytes encoded, const JpegHeader& header, int64_t width, int64_t height,
                       uint8_t* rgb) {
  if (!header.own_tables) open();
  if (header.components != 4) return decompress(encoded, width, height, TJPF_RGB, rgb);
  const auto pixels = static_cast<size_t>(width * height);
  uint8_t* cmyk = cmyk_.resize(pixels * 4);
  decompress(encoded, width, height, TJPF_CMYK, cmyk);
  cmyk_to_rgb(cmyk, pixels, header.adobe, rgb);
}

std::string JpegCodec::attempt(Bytes encoded, int64_t width, int64_t height, int format,
                               uint8_t* out, bool stop_on_warning) {
  const int flags = TJFLAG_ACCURATEDCT | (stop_on_warning ? TJFLAG_STOPONWARNING : 0);
  const int failed =
      tjDecompress2(handle_.get(), encoded.data(), encoded.size(), out, static_cast<int>(width), 0,
                    static_cast<int>(height), format, flags);
  return failed == 0 ? "" : tjGetErrorStr2(handle_.get());
}

void JpegCodec::decompress(Bytes encoded, int64_t width, int64_t height, int format, uint8_t* out) {
  warning_.clear();
  std::string message = attempt(encoded, width, height, format, out, true);
  if (message.empty()) return;
  const bool warned = tjGetErrorCode(handle_.get()) == TJERR_WARNING;
  if (tolerance_ == Tolerance::as_libjpeg && warned) {
    // What the first attempt has left behind must have no part in the second.
    open();
    std::string again = attempt(encoded, width, height, format, out, false);
    // TurboJPEG's code for an error behind a warning is a warning's, too. But it tells the first
    // warning, unless an error came.
    if (again == message) {
      warning_ = std::move(message);
      return;
    }
    message = std::move(again);
  }
  if (message == "Premature end of JPEG file") {
    throw BadSample(
        BadReason::truncated,
        fmt::format("the file ends inside its JPEG data, after {} bytes", encoded.size()));
  }
  throw BadSample(BadReason::corrupt, fmt::format("JPEG data: {}", message));
}

}  // namespace stoker
