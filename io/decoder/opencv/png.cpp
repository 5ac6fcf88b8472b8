#include "io/decoder/opencv/png.h"

#include <png.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "io/core/error.h"

namespace stoker {
namespace {

// What libpng's functions get back from us. C calls them and jumps over them: plain memory.
struct Reading {
  const uint8_t* next = nullptr;
  size_t left = 0;
  std::array<char, 128> error{};
};

void take(png_structp png, png_bytep to, size_t bytes) {
  auto& reading = *static_cast<Reading*>(png_get_io_ptr(png));
  if (bytes > reading.left) png_error(png, "the file ends early");
  std::memcpy(to, reading.next, bytes);
  reading.next += bytes;
  reading.left -= bytes;
}

[[noreturn]] void keep_error(png_structp png, png_const_charp text) {
  auto& reading = *static_cast<Reading*>(png_get_error_ptr(png));
  std::snprintf(reading.error.data(), reading.error.size(), "%s", text);
  png_longjmp(png, 1);
}

void ignore_warning(png_structp /*png*/, png_const_charp /*text*/) {}

// False: there was an error. libpng jumps back to here then, so nothing in it has a destructor.
bool read_rows(png_structp png, png_infop info, const ImageHeader& header, uint8_t* rgb) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_read_info(png, info);
  png_set_strip_16(png);
  png_set_expand(png);
  png_set_gray_to_rgb(png);
  png_set_strip_alpha(png);
  const int passes = png_set_interlace_handling(png);
  png_read_update_info(png, info);
  const auto row_bytes = static_cast<size_t>(header.width) * 3;
  if (png_get_image_height(png, info) != header.height ||
      png_get_rowbytes(png, info) != row_bytes) {
    png_error(png, "it has another size than its header says");
  }
  for (int pass = 0; pass < passes; ++pass) {
    for (int64_t y = 0; y < header.height; ++y) {
      png_read_row(png, rgb + static_cast<size_t>(y) * row_bytes, nullptr);
    }
  }
  png_read_end(png, nullptr);
  return true;
}

}  // namespace

void decode_png(Bytes file, const ImageHeader& header, uint8_t* rgb) {
  Reading reading{file.data(), file.size(), {}};
  png_structp png =
      png_create_read_struct(PNG_LIBPNG_VER_STRING, &reading, keep_error, ignore_warning);
  if (png == nullptr) throw std::bad_alloc();
  png_infop info = png_create_info_struct(png);
  const auto destroy = [&info](png_structp made) {
    png_destroy_read_struct(&made, &info, nullptr);
  };
  const std::unique_ptr<png_struct, decltype(destroy)> owner(png, destroy);
  if (info == nullptr) throw std::bad_alloc();
  png_set_read_fn(png, &reading, take);
  if (read_rows(png, info, header, rgb)) return;
  throw BadSample(BadReason::corrupt, std::string("PNG data: ") + reading.error.data());
}

}  // namespace stoker
