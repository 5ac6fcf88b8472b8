#pragma once

#include <functional>
#include <map>

#include "io/core/random.h"
#include "io/jpeg/inverse_dct.h"
#include "io/jpeg/jpeg_frame.h"
#include "io/jpeg/rgb_rows.h"
#include "tests/decoder/images.h"

// Coefficients of JPEG files, read and changed by libjpeg-turbo, and decoded by the parts under
// test without an entropy decoder of ours.

namespace stoker {

struct alignas(64) Block {
  int16_t values[64];
};

// One component; blocks in the scan's order.
struct BlockRows {
  int64_t width = 0;  // of the component, in samples that count
  int64_t height = 0;
  int64_t columns = 0;  // of blocks
  std::vector<Block> blocks;
};

// What is called for every block: component, block in natural order, which may be changed.
using BlockChange = std::function<void(int, int16_t*)>;

namespace jpeg_blocks {

struct Pass {
  std::vector<BlockRows> components;
  BlockChange change;
};

// One row of blocks at a time; libjpeg's last row may lie below the image.
inline int collect(short* coefficients, tjregion row, tjregion plane, int component, int,
                   tjtransform* transform) {
  auto& pass = *static_cast<Pass*>(transform->data);
  if (row.y >= plane.h) return 0;
  pass.components.resize(std::max(pass.components.size(), static_cast<size_t>(component) + 1));
  BlockRows& rows = pass.components[static_cast<size_t>(component)];
  rows.columns = plane.w / 8;
  for (int64_t x = 0; x < rows.columns; ++x, coefficients += 64) {
    if (pass.change) pass.change(component, coefficients);
    Block& block = rows.blocks.emplace_back();
    for (size_t i = 0; i < 64; ++i) block.values[i] = coefficients[kScanOrder[i]];
  }
  return 0;
}

inline File run(const File& file, Pass& pass) {
  tjtransform transform{};
  transform.customFilter = collect;
  transform.data = &pass;
  return transformed(file, transform);
}

}  // namespace jpeg_blocks

inline File with_blocks(const File& file, const BlockChange& change) {
  jpeg_blocks::Pass pass{{}, change};
  return jpeg_blocks::run(file, pass);
}

// Where the 64 bytes of each quantisation table lie, by its number.
inline std::map<int, size_t> quantisation_tables(const File& file) {
  std::map<int, size_t> tables;
  for (size_t at = 2; file.at(at + 1) != 0xda;) {
    const size_t end = at + 2u + static_cast<size_t>(file.at(at + 2) << 8 | file.at(at + 3));
    for (size_t table = at + 4; file[at + 1] == 0xdb && table < end; table += 65) {
      tables[file.at(table)] = table + 1;  // 8 bits per value
    }
    at = end;
  }
  return tables;
}

inline File with_quantisation(File file, uint8_t value) {
  for (const auto& [number, at] : quantisation_tables(file)) {
    std::fill_n(file.begin() + static_cast<ptrdiff_t>(at), 64, value);
  }
  return file;
}

// A file's coefficients and what is needed to make samples of them.
struct JpegBlocks {
  explicit JpegBlocks(const File& file) {
    const std::unique_ptr<void, int (*)(void*)> handle(tjInitDecompress(), tjDestroy);
    int space = 0;
    if (tjDecompressHeader3(handle.get(), file.data(), file.size(), &width, &height, &subsampling,
                            &space) != 0) {
      throw std::runtime_error(tjGetErrorStr2(handle.get()));
    }
    jpeg_blocks::Pass pass;
    jpeg_blocks::run(file, pass);
    components = pass.components;
    const int halves_x = subsampling == TJSAMP_420 || subsampling == TJSAMP_422 ? 2 : 1;
    const int halves_y = subsampling == TJSAMP_420 ? 2 : 1;
    mcu_width = 8 * halves_x, mcu_height = 8 * halves_y;
    const auto tables = quantisation_tables(file);
    const size_t frame = find_marker(file, 0xc0);
    for (size_t c = 0; c < components.size(); ++c) {
      components[c].width = c == 0 ? width : (width + halves_x - 1) / halves_x;
      components[c].height = c == 0 ? height : (height + halves_y - 1) / halves_y;
      Block& table = quantisation.emplace_back();
      const size_t at = tables.at(file[frame + 12 + 3 * c]);
      for (size_t k = 0; k < 64; ++k) table.values[k] = file[at + k];
    }
  }

  int width = 0, height = 0, subsampling = 0;
  int64_t mcu_width = 8, mcu_height = 8;
  std::vector<BlockRows> components;
  std::vector<Block> quantisation;
};

// All of one component.
inline void inverse_dct(const InverseDcts& dcts, const BlockRows& rows, const Block& quantisation,
                        const JpegPlane& plane) {
  const Block* block = rows.blocks.data();
  const int64_t lines = static_cast<int64_t>(rows.blocks.size()) / rows.columns;
  for (int64_t y = 0; y < lines; ++y) {
    uint8_t* out = plane.data + static_cast<size_t>(8 * y) * plane.stride;
    std::vector<DctBlock> row;
    row.reserve(static_cast<size_t>(rows.columns));
    for (int64_t x = 0; x < rows.columns; ++x, out += 8) {
      row.push_back({(block++)->values, quantisation.values, out, plane.stride, 8});
    }
    to_samples(dcts, row);
  }
}

// The samples of all components. Whatever no block covers is garbage, as it may be in a decoder,
// and the memory is not a byte larger than RgbRows asks for.
struct Samples {
  explicit Samples(const JpegBlocks& jpeg, const InverseDcts& dcts = best_inverse_dcts()) {
    planes.width = jpeg.width, planes.height = jpeg.height;
    planes.sampling = jpeg.subsampling == TJSAMP_420   ? ChromaSampling::s420
                      : jpeg.subsampling == TJSAMP_422 ? ChromaSampling::s422
                      : jpeg.subsampling == TJSAMP_444 ? ChromaSampling::s444
                                                       : ChromaSampling::gray;
    const int64_t mcus = (jpeg.width + jpeg.mcu_width - 1) / jpeg.mcu_width;
    const int64_t mcu_rows = (jpeg.height + jpeg.mcu_height - 1) / jpeg.mcu_height;
    for (size_t c = 0; c < jpeg.components.size(); ++c) {
      const BlockRows& rows = jpeg.components[c];
      const int64_t mcu_width = c == 0 ? jpeg.mcu_width : 8;
      const int64_t mcu_height = c == 0 ? jpeg.mcu_height : 8;
      const auto stride = static_cast<size_t>((mcus * mcu_width + 15) / 16 * 16);
      const size_t front = c == 0 ? 0 : 1;
      memory[c].assign(
          front + stride * static_cast<size_t>(mcu_rows * mcu_height) + RgbRows::kPlaneSlack, 0xcd);
      planes.planes[c] = {memory[c].data() + front, stride, rows.width, rows.height};
      inverse_dct(dcts, rows, jpeg.quantisation[c], planes.planes[c]);
    }
  }

  JpegPlanes planes;
  std::vector<uint8_t> memory[3];
};

// libjpeg-turbo's own result.
inline Pixels decoded_rgb(const File& file, int width, int height) {
  Pixels out(static_cast<size_t>(width * height * 3));
  const std::unique_ptr<void, int (*)(void*)> handle(tjInitDecompress(), tjDestroy);
  if (tjDecompress2(handle.get(), file.data(), file.size(), out.data(), width, 0, height, TJPF_RGB,
                    TJFLAG_ACCURATEDCT) != 0) {
    throw std::runtime_error(tjGetErrorStr2(handle.get()));
  }
  return out;
}

// Something between a photograph and noise, so that all kinds of blocks come up.
inline Pixels scene(int width, int height, int channels, Random random) {
  Pixels pixels;
  const auto a = random.uniform(0.01, 0.3), b = random.uniform(0.01, 0.3);
  const uint64_t noise = 1 + random.below(80);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        const double value = 128 + 100 * std::sin(a * x + c) * std::cos(b * y - c) +
                             static_cast<double>(random.below(noise));
        pixels.push_back(static_cast<uint8_t>(std::clamp(value, 0.0, 255.0)));
      }
    }
  }
  return pixels;
}

}  // namespace stoker
