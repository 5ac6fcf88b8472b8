#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "io/decoder/jpeg_header.h"

namespace stoker {

// The order in which a scan stores the coefficients of a block (T.81, figure A.6): index in rows of
// eight.
constexpr std::array<uint8_t, 64> scan_order() {
  std::array<uint8_t, 64> order{};
  int x = 0, y = 0;
  for (uint8_t& place : order) {
    place = static_cast<uint8_t>(y * 8 + x);
    const bool up = (x + y) % 2 == 0;
    if (up ? x == 7 : y == 7) {
      ++(up ? y : x);
    } else if (up ? y == 0 : x == 0) {
      ++(up ? x : y);
    } else {
      x += up ? 1 : -1;
      y += up ? -1 : 1;
    }
  }
  return order;
}
constexpr std::array<uint8_t, 64> kScanOrder = scan_order();

// How much smaller the chroma components of a JPEG image are than luma.
enum class ChromaSampling { gray, s444, s422, s420 };

// What the header of a file says, as the fast decoder wants it. Refers to the file's bytes, which
// must outlive it. One thread at a time.
struct JpegFrame {
  // A component's indices of the tables below.
  struct Component {
    // Its name in scan headers.
    uint8_t id = 0;
    // Index of the table.
    size_t quantisation = 0;
    size_t dc_table = 0;
    size_t ac_table = 0;
  };
  ChromaSampling sampling = ChromaSampling::gray;
  // The size of the image in pixels.
  int64_t width = 0;
  int64_t height = 0;
  // 1 or 3, in the order Y, Cb, Cr.
  size_t components = 0;
  size_t restart_interval = 0;  // MCUs; 0: none
  // The first `components` of them count.
  std::array<Component, 3> component;
  // In the scan's order. The contents of tables that no component names are unspecified.
  alignas(64) std::array<std::array<int16_t, 64>, 4> quantisation;
  // Definitions of T.81, B.2.4.2: 16 counts, then the symbols. Empty: not defined.
  std::array<Bytes, 4> dc_tables;
  std::array<Bytes, 4> ac_tables;

  // Reads the segments of one file. False: something here is unusual or wrong, so the fast decoder
  // leaves the file to libjpeg-turbo; the contents are unspecified then.
  bool assign(const JpegHeader& header, std::span<const JpegSegment> segments);
  // The same for a progressive file, but for what its scans say: dc_table, ac_table, and whether
  // all Huffman tables are there.
  bool assign_progressive(const JpegHeader& header, std::span<const JpegSegment> segments);
  // Adds a segment's definitions of Huffman tables, as between scans. False: as above.
  bool define_huffman(Bytes payload);

 private:
  bool assign_segments(const JpegHeader& header, std::span<const JpegSegment> segments,
                       bool progressive);
};

// Size of an MCU (the unit in which a scan interleaves components) in samples of the luma
// component; those of chroma are 8 x 8. A value.
struct McuSize {
  size_t width = 8;
  size_t height = 8;
};
McuSize mcu_size(ChromaSampling sampling);

// The image in MCUs, those that reach beyond its edges included. A value.
struct McuGrid {
  size_t columns = 0;
  size_t rows = 0;
};
McuGrid mcu_grid(const JpegFrame& frame);

// One component of an image, decoded to 8-bit samples in memory of the caller. It is whole MCUs
// large, so that blocks are written without a look at the image's edge; only the first width x
// height samples count. A value.
struct JpegPlane {
  // Sample (0, 0).
  uint8_t* data = nullptr;
  // The distance from a row to the next, in bytes.
  size_t stride = 0;
  // T.81, A.1.1: the image's size times the sampling factor, rounded up; reduced likewise.
  int64_t width = 0;
  int64_t height = 0;
  // The width and height of a block: 8, or less in an image of reduced size.
  size_t side = 8;
};

// What the entropy decoder and the inverse DCT leave, and colour conversion starts from. A value;
// refers to the planes' memory.
struct JpegPlanes {
  ChromaSampling sampling = ChromaSampling::gray;
  int64_t width = 0;  // of the image
  int64_t height = 0;
  // Y, Cb, Cr; gray: Y alone.
  std::array<JpegPlane, 3> planes;
};

}  // namespace stoker
