#pragma once

#include <cstdint>

#include "io/core/system/memory.h"
#include "io/decoder/file_kind.h"

namespace stoker {

// What an encoded image says of itself. A value. The size is that of the image as stored, before
// EXIF's orientation.
struct ImageHeader {
  ImageFormat format = ImageFormat::jpeg;
  // Both at least 1.
  int64_t width = 0;
  int64_t height = 0;
  // EXIF, 1 to 8.
  int orientation = 1;
};

// Format, size and orientation of an image, read without decoding anything; any thread. PNG: W3C
// Portable Network Graphics (third edition); WebP: RFC 9649; BMP: BITMAPINFOHEADER and the older
// BITMAPCOREHEADER; TIFF 6.0, the first image; PNM: Netpbm's PBM, PGM and PPM; JPEG: jpeg_header.h.
// Throws BadSample: truncated where the end is missing (but for JPEG, whose end is not looked for),
// corrupt, or as refuse_file().
ImageHeader read_image_header(Bytes file);

}  // namespace stoker
