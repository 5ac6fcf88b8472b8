#include "io/decoder/jpeg_codec.h"

#include <fmt/format.h>
#include <turbojpeg.h>

#include <new>
#include <string_view>

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

JpegCodec::JpegCodec() : handle_(nullptr, tjDestroy) { open(); }

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

void JpegCodec::decompress(Bytes encoded, int64_t width, int64_t height, int format, uint8_t* out) {
  constexpr int kFlags = TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING;
  const int failed =
      tjDecompress2(handle_.get(), encoded.data(), encoded.size(), out, static_cast<int>(width), 0,
                    static_cast<int>(height), format, kFlags);
  if (failed == 0) return;
  const std::string_view message = tjGetErrorStr2(handle_.get());
  if (message == "Premature end of JPEG file") {
    throw BadSample(
        BadReason::truncated,
        fmt::format("the file ends inside its JPEG data, after {} bytes", encoded.size()));
  }
  throw BadSample(BadReason::corrupt, fmt::format("JPEG data: {}", message));
}

}  // namespace stoker
