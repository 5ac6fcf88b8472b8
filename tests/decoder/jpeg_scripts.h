#pragma once

#include <functional>

#include "tests/decoder/images.h"
#include "tests/decoder/libjpeg.h"

// Progressive JPEG files by libjpeg-turbo, with scans of the test's choice.

namespace stoker {

// One scan: components, first and last coefficient, the bit before and the lowest.
using ScanScript = std::vector<jpeg_scan_info>;

struct ScriptedJpeg {
  int width = 0;
  int height = 0;
  int components = 3;
  int luma_h = 2;
  int luma_v = 2;
  int quality = 80;
  unsigned restart_mcus = 0;
  // Empty: libjpeg's own script.
  ScanScript scans;
};

inline File encoded(const ScriptedJpeg& wanted, const Pixels& pixels) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  errors.error_exit = [](j_common_ptr common) {
    char text[JMSG_LENGTH_MAX];
    common->err->format_message(common, text);
    throw std::runtime_error(text);
  };
  jpeg_create_compress(&info);
  const std::unique_ptr<jpeg_compress_struct, void (*)(j_compress_ptr)> owner(
      &info, jpeg_destroy_compress);
  unsigned char* out = nullptr;
  unsigned long bytes = 0;
  jpeg_mem_dest(&info, &out, &bytes);
  info.image_width = static_cast<JDIMENSION>(wanted.width);
  info.image_height = static_cast<JDIMENSION>(wanted.height);
  info.input_components = wanted.components;
  info.in_color_space = wanted.components == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, wanted.quality, TRUE);
  info.comp_info[0].h_samp_factor = wanted.luma_h;
  info.comp_info[0].v_samp_factor = wanted.luma_v;
  info.restart_interval = wanted.restart_mcus;
  jpeg_simple_progression(&info);
  if (!wanted.scans.empty()) {
    info.scan_info = wanted.scans.data();
    info.num_scans = static_cast<int>(wanted.scans.size());
  }
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    auto* row = const_cast<uint8_t*>(pixels.data()) +
                size_t{info.next_scanline} * static_cast<size_t>(wanted.width * wanted.components);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  const std::unique_ptr<unsigned char, void (*)(void*)> memory(out, std::free);
  return {out, out + bytes};
}

inline jpeg_scan_info dc_scan(std::vector<int> components, int high, int low) {
  jpeg_scan_info scan{static_cast<int>(components.size()), {}, 0, 0, high, low};
  std::copy(components.begin(), components.end(), scan.component_index);
  return scan;
}
inline jpeg_scan_info ac_scan(int component, int first, int last, int high, int low) {
  return {1, {component}, first, last, high, low};
}

// Ways to write an image: bands alone, bits alone, both, components apart.
inline std::vector<ScanScript> scan_scripts(int components) {
  std::vector<int> all(static_cast<size_t>(components));
  for (int c = 0; c < components; ++c) all[static_cast<size_t>(c)] = c;
  const auto for_each = [&](ScanScript& scans, const std::function<void(int)>& add) -> ScanScript& {
    for (const int c : all) add(c);
    return scans;
  };
  std::vector<ScanScript> scripts{{}};
  ScanScript whole{dc_scan(all, 0, 0)};
  scripts.push_back(for_each(whole, [&](int c) { whole.push_back(ac_scan(c, 1, 63, 0, 0)); }));
  ScanScript bands;
  for_each(bands, [&](int c) { bands.push_back(dc_scan({c}, 0, 0)); });
  for (const auto& [first, last] : {std::pair{1, 1}, {2, 8}, {9, 20}, {21, 62}, {63, 63}}) {
    for_each(bands, [&](int c) { bands.push_back(ac_scan(c, first, last, 0, 0)); });
  }
  scripts.push_back(bands);
  // Of three components more scans of AC coefficients than the decoder has wait.
  ScanScript both{dc_scan(all, 0, 0)};
  for (const auto& [high, low] : {std::pair{0, 1}, {1, 0}}) {
    for (const auto& [first, last] : {std::pair{1, 1}, {2, 8}, {9, 20}, {21, 62}, {63, 63}}) {
      for_each(both, [&](int c) { both.push_back(ac_scan(c, first, last, high, low)); });
    }
  }
  scripts.push_back(both);
  ScanScript bits{dc_scan(all, 0, 4)};
  for_each(bits, [&](int c) { bits.push_back(ac_scan(c, 1, 63, 0, 5)); });
  for (int low = 4; low >= 0; --low) {
    if (low < 4) bits.push_back(dc_scan(all, low + 1, low));
    for_each(bits, [&](int c) { bits.push_back(ac_scan(c, 1, 63, low + 1, low)); });
  }
  scripts.push_back(bits);
  if (components == 3) {
    scripts.push_back({dc_scan({1, 2}, 0, 1), ac_scan(2, 1, 63, 0, 1), dc_scan({0}, 0, 0),
                       ac_scan(0, 1, 10, 0, 2), ac_scan(0, 11, 63, 0, 0), ac_scan(1, 1, 63, 0, 0),
                       dc_scan({1}, 1, 0), ac_scan(0, 1, 10, 2, 1), dc_scan({2}, 1, 0),
                       ac_scan(2, 1, 63, 1, 0), ac_scan(0, 1, 10, 1, 0)});
  }
  return scripts;
}

}  // namespace stoker
