#pragma once

#include <cstdint>

#include "io/core/memory.h"

namespace stoker {

// Formats that are told apart by their first bytes. to_string() has their names in this order.
enum class ImageFormat { jpeg, png, webp, bmp };

// "JPEG", "PNG", ... A literal.
const char* to_string(ImageFormat format);

// What an encoded image says of itself. A value. The size is that of the image as stored, before
// EXIF's orientation.
struct ImageHeader {
  ImageFormat format = ImageFormat::jpeg;
  int64_t width = 0;
  int64_t height = 0;
  int orientation = 1;  // EXIF, 1 to 8
};

// Format, size and orientation of an encoded image, read without decoding anything; any thread.
// PNG: W3C Portable Network Graphics (third edition); WebP: RFC 9649; BMP: BITMAPINFOHEADER and the
// older BITMAPCOREHEADER; JPEG: jpeg_header.h. Throws BadSample: empty, not_an_image, truncated,
// corrupt.
ImageHeader read_image_header(Bytes file);

}  // namespace stoker
