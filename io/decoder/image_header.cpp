#include "io/decoder/image_header.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

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

[[noreturn]] void ends_early(Bytes file, const char* inside) {
  throw BadSample(BadReason::truncated,
                  fmt::format("the file ends inside its {}, after {} bytes", inside, file.size()));
}

void need(Bytes file, uint64_t bytes, const char* inside) {
  if (file.size() < bytes) ends_early(file, inside);
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

void need_all_chunks(Bytes png) {
  for (size_t at = 8; !has(png, at + 4, "IEND"); at += size_t{12} + big32(png, at)) {
    need(png, at + 12, "PNG data");
  }
}

ImageHeader read_png(Bytes file) {
  need(file, 24, "PNG header");
  if (!has(file, 12, "IHDR")) throw BadSample(BadReason::corrupt, "PNG header: no IHDR chunk");
  need_all_chunks(file);
  return {ImageFormat::png, big32(file, 16), big32(file, 20), find_orientation(file, 8, true)};
}

ImageHeader read_webp(Bytes file) {
  need(file, 30, "WebP header");
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
  need(file, uint64_t{8} + little(file, 4, 4), "WebP data");
  return header;
}

ImageHeader read_bmp(Bytes file) {
  need(file, 34, "BMP header");
  const bool old = little(file, 14, 4) == 12;
  ImageHeader header{ImageFormat::bmp, little(file, 18, 2), little(file, 20, 2)};
  if (!old) {
    // A negative height stands for rows from top to bottom.
    header.width = static_cast<int32_t>(little(file, 18, 4));
    header.height = std::abs(static_cast<int64_t>(static_cast<int32_t>(little(file, 22, 4))));
  }
  const int64_t bits = little(file, old ? 24 : 28, 2);
  const uint32_t compression = old ? 0 : little(file, 30, 4);
  const bool stored = compression == 0 || compression == 3;  // rows as they are
  if (stored && header.width > 0 && bits <= 32) {
    const auto row = static_cast<uint64_t>((header.width * bits + 31) / 32 * 4);
    need(file, little(file, 10, 4) + row * static_cast<uint64_t>(header.height), "BMP data");
  }
  return header;
}

// Strips or tiles: their places and sizes.
void need_all_pieces(Bytes file, const TiffDirectory& directory) {
  for (const auto& [places_tag, sizes_tag] :
       {std::pair<uint16_t, uint16_t>{273, 279}, {324, 325}}) {
    const std::optional<size_t> places = directory.find(places_tag),
                                sizes = directory.find(sizes_tag);
    for (uint32_t i = 0; places && i < directory.count(*places); ++i) {
      const auto begin = directory.number(*places, i);
      const auto bytes = sizes ? directory.number(*sizes, i) : std::optional(1.0);
      const bool there = begin && bytes && *begin + *bytes <= static_cast<double>(file.size());
      if (!there) ends_early(file, "TIFF data");
    }
  }
}

ImageHeader read_tiff(Bytes file) {
  const TiffDirectory directory(file);
  if (!directory.complete()) ends_early(file, "TIFF data, in front of its directory");
  constexpr double kMost = 1e9;
  const double width = directory.number(256).value_or(0),
               height = directory.number(257).value_or(0);
  const bool sides = width >= 1 && width <= kMost && height >= 1 && height <= kMost;
  if (!sides) return {ImageFormat::tiff};
  need_all_pieces(file, directory);
  return {ImageFormat::tiff, static_cast<int64_t>(width), static_cast<int64_t>(height),
          exif_orientation(file)};
}

// The next number of a PNM's header; comments go from '#' to the end of the line.
int64_t pnm_number(Bytes file, size_t& at) {
  const auto byte = [&] {
    need(file, at + 1, "PNM header");
    return static_cast<char>(file[at++]);
  };
  char c = byte();
  while (c == ' ' || (c >= '\t' && c <= '\r') || c == '#') {
    while (c == '#' && byte() != '\n') {
    }
    c = byte();
  }
  int64_t value = 0;
  for (; c >= '0' && c <= '9' && value < 1'000'000; c = byte()) value = 10 * value + c - '0';
  return value;
}

ImageHeader read_pnm(Bytes file) {
  size_t at = 2;
  ImageHeader header{ImageFormat::pnm};
  header.width = pnm_number(file, at);
  header.height = pnm_number(file, at);
  const char type = static_cast<char>(file[1]);
  if (type < '4') return header;  // pixels in text
  const int64_t most = type == '4' ? 1 : pnm_number(file, at);
  const int64_t row = type == '4' ? (header.width + 7) / 8
                                  : header.width * (type == '6' ? 3 : 1) * (most > 255 ? 2 : 1);
  need(file, at + static_cast<uint64_t>(row * header.height), "PNM data");
  return header;
}

ImageHeader read_jpeg(Bytes file) {
  const JpegHeader jpeg = read_jpeg_header(file);
  return {ImageFormat::jpeg, jpeg.width, jpeg.height, jpeg.orientation};
}

ImageHeader read_any(Bytes file) {
  switch (file_kind(file).format) {
    case ImageFormat::jpeg:
      return read_jpeg(file);
    case ImageFormat::png:
      return read_png(file);
    case ImageFormat::webp:
      return read_webp(file);
    case ImageFormat::bmp:
      return read_bmp(file);
    case ImageFormat::tiff:
      return read_tiff(file);
    case ImageFormat::pnm:
      return read_pnm(file);
    case ImageFormat::other:
    case ImageFormat::none:
      break;
  }
  refuse_file(file);
}

}  // namespace

ImageHeader read_image_header(Bytes file) {
  const ImageHeader header = read_any(file);
  if (header.width > 0 && header.height > 0) return header;
  throw BadSample(BadReason::corrupt,
                  fmt::format("{} header: {}x{} pixels", to_string(header.format), header.width,
                              header.height));
}

}  // namespace stoker
