#pragma once

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>
// It needs cstdio before it.
#include <jpeglib.h>

#include "io/core/system/memory.h"

// libjpeg's own interface, which tells errors from warnings: what the decoders are compared with.

namespace stoker {

// What libjpeg makes of a file. A value.
struct ByLibjpeg {
  std::string error;    // empty: it decoded the file
  std::string warning;  // the first
  int64_t width = 0;
  int64_t height = 0;
  int components = 0;
  std::vector<uint8_t> rgb;
};

// libjpeg-turbo as its manual says, at 1/reduction. Images of more pixels are an error.
class Libjpeg {
 public:
  Libjpeg(ByLibjpeg& result, int64_t max_pixels) : result_(result), max_pixels_(max_pixels) {
    info_.err = jpeg_std_error(&errors_);
    info_.client_data = &result;
    errors_.error_exit = [](j_common_ptr info) { throw std::runtime_error(message(info)); };
    errors_.emit_message = [](j_common_ptr info, int level) {
      std::string& warning = static_cast<ByLibjpeg*>(info->client_data)->warning;
      if (level < 0 && warning.empty()) warning = message(info);
    };
    jpeg_create_decompress(&info_);
  }
  ~Libjpeg() { jpeg_destroy_decompress(&info_); }
  Libjpeg(const Libjpeg&) = delete;
  Libjpeg& operator=(const Libjpeg&) = delete;

  void decode(Bytes file, unsigned reduction) {
    jpeg_mem_src(&info_, file.data(), file.size());
    jpeg_read_header(&info_, TRUE);
    if (int64_t{info_.image_width} * info_.image_height > max_pixels_) {
      throw std::runtime_error("too large");
    }
    result_.components = info_.num_components;
    info_.out_color_space = info_.num_components == 4 ? JCS_CMYK : JCS_RGB;
    info_.scale_num = 1;
    info_.scale_denom = reduction;
    jpeg_start_decompress(&info_);
    result_.width = info_.output_width;
    result_.height = info_.output_height;
    const size_t row = size_t{info_.output_width} * static_cast<size_t>(info_.output_components);
    result_.rgb.resize(row * info_.output_height);
    while (info_.output_scanline < info_.output_height) {
      uint8_t* rows[] = {result_.rgb.data() + row * info_.output_scanline};
      jpeg_read_scanlines(&info_, rows, 1);
    }
    jpeg_finish_decompress(&info_);
  }

 private:
  static std::string message(j_common_ptr info) {
    char text[JMSG_LENGTH_MAX];
    info->err->format_message(info, text);
    return text;
  }

  ByLibjpeg& result_;
  const int64_t max_pixels_;
  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
};

inline ByLibjpeg by_libjpeg(Bytes file, unsigned reduction = 1, int64_t max_pixels = 4'000'000) {
  ByLibjpeg result;
  try {
    Libjpeg(result, max_pixels).decode(file, reduction);
  } catch (const std::runtime_error& error) {
    result.error = error.what();
  }
  return result;
}

}  // namespace stoker
