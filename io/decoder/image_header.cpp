#include "io/decoder/image_header.h"

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "io/core/error.h"
#include "io/decoder/exif.h"
#include "io/decoder/jpeg_header.h"

namespace stoker {
namespace {

using namespace std::string_view_literals;

bool has(Bytes file, size_t at, std::string_view text) {
  return file.size() >= at + text.size() &&
         std::memcmp(file.data() + at, text.data(), text.size()) == 0;
}

// Little-endian; the callers have checked that it is there.
uint32_t little(Bytes file, size_t at, int bytes) {
  uint32_t value = 0;
  for (int i = bytes; i-- > 0;) value = value << 8 | file[at + static_cast<size_t>(i)];
  return value;
}

uint32_t big32(Bytes file, size_t at) {
  return uint32_t{file[at]} << 24 | file[at + 1] << 16 | file[at + 2] << 8 | file[at + 3];
}

void need(Bytes file, size_t bytes, const char* format) {
  if (file.size() >= bytes) return;
  throw BadSample(BadReason::truncated, std::string("the file ends inside its ") + format +
                                            " header, after " + std::to_string(file.size()) +
                                            " bytes");
}

// The data of the EXIF chunk, if any. Chunks: PNG length type data crc; WebP type length data.
int find_orientation(Bytes file, size_t at, bool png) {
  while (file.size() >= at + 8) {
    const size_t length = png ? big32(file, at) : little(file, at + 4, 4);
    if (length > file.size() - at - 8) break;
    Bytes data = file.subspan(at + 8, length);
    if (png ? has(file, at + 4, "eXIf") : has(file, at, "EXIF")) {
      if (has(data, 0, "Exif\0\0"sv)) data = data.subspan(6);
      return exif_orientation(data);
    }
    at += 8 + length + (png ? 4 : length % 2);
  }
  return 1;
}

// Of a PNG that is cut short, OpenCV refuses what there is or decodes it, according to its version.
void need_all_chunks(Bytes png) {
  for (size_t at = 8; !has(png, at + 4, "IEND"); at += 12 + big32(png, at)) {
    if (png.size() < at + 12) {
      throw BadSample(BadReason::truncated, "the file ends inside its PNG data, after " +
                                                std::to_string(png.size()) + " bytes");
    }
  }
}

ImageHeader read_png(Bytes file) {
  need(file, 24, "PNG");
  if (!has(file, 12, "IHDR")) throw BadSample(BadReason::corrupt, "PNG header: no IHDR chunk");
  need_all_chunks(file);
  return {ImageFormat::png, big32(file, 16), big32(file, 20), find_orientation(file, 8, true)};
}

ImageHeader read_webp(Bytes file) {
  need(file, 30, "WebP");
  ImageHeader header{ImageFormat::webp};
  if (has(file, 12, "VP8X")) {
    if (file[20] & 2) throw BadSample(BadReason::unsupported, "WebP: it is an animation");
    header.width = 1 + little(file, 24, 3);
    header.height = 1 + little(file, 27, 3);
    header.orientation = find_orientation(file, 12, false);
  } else if (has(file, 12, "VP8L")) {
    const uint32_t bits = little(file, 21, 4);
    header.width = 1 + (bits & 0x3fff);
    header.height = 1 + (bits >> 14 & 0x3fff);
  } else if (has(file, 12, "VP8 ")) {
    header.width = little(file, 26, 2) & 0x3fff;
    header.height = little(file, 28, 2) & 0x3fff;
  } else {
    throw BadSample(BadReason::corrupt, "WebP header: no image chunk");
  }
  return header;
}

ImageHeader read_bmp(Bytes file) {
  need(file, 26, "BMP");
  if (little(file, 14, 4) == 12) {
    return {ImageFormat::bmp, little(file, 18, 2), little(file, 20, 2)};
  }
  // A negative height stands for rows from top to bottom.
  const auto width = static_cast<int32_t>(little(file, 18, 4));
  const auto height = static_cast<int32_t>(little(file, 22, 4));
  return {ImageFormat::bmp, width, std::abs(static_cast<int64_t>(height))};
}

ImageHeader read_any(Bytes file) {
  if (has(file, 0, "\x89PNG\r\n\x1a\n")) return read_png(file);
  if (has(file, 0, "RIFF") && has(file, 8, "WEBP")) return read_webp(file);
  if (has(file, 0, "BM")) return read_bmp(file);
  if (file.empty()) throw BadSample(BadReason::empty, "the file is empty");
  if (!has(file, 0, "\xff\xd8"sv)) {
    throw BadSample(BadReason::not_an_image, "neither a JPEG, a PNG, a WebP nor a BMP file");
  }
  const JpegHeader jpeg = read_jpeg_header(file);
  return {ImageFormat::jpeg, jpeg.width, jpeg.height, jpeg.orientation};
}

}  // namespace

const char* to_string(ImageFormat format) {
  constexpr const char* kNames[] = {"JPEG", "PNG", "WebP", "BMP"};
  return kNames[static_cast<size_t>(format)];
}

ImageHeader read_image_header(Bytes file) {
  const ImageHeader header = read_any(file);
  if (header.width > 0 && header.height > 0) return header;
  throw BadSample(BadReason::corrupt, std::string(to_string(header.format)) +
                                          " header: " + std::to_string(header.width) + "x" +
                                          std::to_string(header.height) + " pixels");
}

}  // namespace stoker
