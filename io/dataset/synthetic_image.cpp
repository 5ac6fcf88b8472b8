#include "io/dataset/synthetic_image.h"

#include <fmt/format.h>
#include <turbojpeg.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numbers>
#include <stdexcept>

#include "io/core/random.h"

namespace stoker {
namespace {

constexpr double kTau = 2 * std::numbers::pi;

struct Size {
  int64_t width;
  int64_t height;
  double pixels() const { return static_cast<double>(width) * static_cast<double>(height); }
};

// The same shape with `pixels` pixels; JPEG allows 65,500 a side.
Size scaled(const Size& shape, double pixels) {
  const double factor = std::sqrt(pixels / shape.pixels());
  const auto side = [&](int64_t length) {
    return std::clamp<int64_t>(std::llround(static_cast<double>(length) * factor), 16, 65'500);
  };
  return {side(shape.width), side(shape.height)};
}

// Stripes in the class's hue and direction, one byte per pixel and colour.
std::vector<uint8_t> draw(const Size& size, double share, uint64_t seed) {
  Random random(seed);
  const double phase = random.uniform();
  const double contrast = random.uniform(30, 60);
  const double noise = random.uniform(16, 24);
  const double wave = random.uniform(24, 40);  // pixels
  // The stripes as a table over one period, so that a pixel costs an addition and a look-up.
  std::array<std::array<int, 3>, 256> table{};
  for (size_t i = 0; i < table.size(); ++i) {
    const double stripe = contrast * std::sin(kTau * static_cast<double>(i) / 256);
    for (size_t c = 0; c < 3; ++c) {
      const double hue = 128 + 50 * std::cos(kTau * (share + static_cast<double>(c) / 3));
      table[i][c] = static_cast<int>(hue + stripe);
    }
  }
  const double angle = std::numbers::pi * share;
  const auto step = [&](double direction) {
    return static_cast<uint32_t>(static_cast<int64_t>(direction / wave * 0x1p32));
  };
  const uint32_t dx = step(std::cos(angle));
  const uint32_t dy = step(std::sin(angle));
  const auto start = static_cast<uint32_t>(phase * 0x1p32);
  const auto scale = static_cast<int>(noise * 2);
  std::vector<uint8_t> pixels(static_cast<size_t>(size.width * size.height * 3));
  uint8_t* out = pixels.data();
  for (int64_t y = 0; y < size.height; ++y) {
    uint32_t place = start + static_cast<uint32_t>(y) * dy;
    uint64_t bits = 0;
    for (int64_t x = 0; x < size.width; ++x, place += dx, bits >>= 8) {
      if (x % 8 == 0) bits = random.next();
      const int grain = (static_cast<int>(bits & 0xff) - 128) * scale / 256;
      for (const int value : table[place >> 24]) {
        *out++ = static_cast<uint8_t>(std::clamp(value + grain, 0, 255));
      }
    }
  }
  return pixels;
}

std::vector<uint8_t> encode(const Size& size, const std::vector<uint8_t>& pixels, int quality) {
  const std::unique_ptr<void, decltype([](void* h) { tjDestroy(h); })> handle(tjInitCompress());
  const auto width = static_cast<int>(size.width);
  const auto height = static_cast<int>(size.height);
  std::vector<uint8_t> jpeg(tjBufSize(width, height, TJSAMP_420));
  unsigned char* target = jpeg.data();
  unsigned long bytes = jpeg.size();
  if (tjCompress2(handle.get(), pixels.data(), width, 0, height, TJPF_RGB, &target, &bytes,
                  TJSAMP_420, quality, TJFLAG_NOREALLOC) != 0) {
    throw std::runtime_error(std::string("tjCompress2: ") + tjGetErrorStr2(handle.get()));
  }
  jpeg.resize(bytes);
  jpeg.shrink_to_fit();
  return jpeg;
}

// Box and Muller's normal variate.
double normal(Random& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
  return radius * std::cos(kTau * random.uniform());
}

}  // namespace

void SyntheticImageOptions::check(const Section& section) const {
  if (!median_bytes || (median_bytes->bytes >= 4096 && median_bytes->bytes <= 16u << 20)) return;
  section.fail("median_bytes", "must be between 4KiB and 16MiB");
}

std::vector<uint8_t> synthetic_jpeg(const SyntheticImageOptions& options, int64_t classes,
                                    int64_t label, uint64_t seed) {
  const double share = static_cast<double>(label) / static_cast<double>(classes);
  const auto quality = static_cast<int>(options.quality);
  const auto make = [&](const Size& size) {
    return encode(size, draw(size, share, seed), quality);
  };
  const Size shape{options.width, options.height};
  if (!options.median_bytes) return make(shape);

  const double wanted = synthetic_size(options, seed);
  // Bytes grow almost linearly with pixels: a few steps from a guess for quality 90.
  Size size = scaled(shape, wanted / 0.43);
  std::vector<uint8_t> jpeg = make(size);
  for (int step = 0; step < 4; ++step) {
    const double got = static_cast<double>(jpeg.size());
    if (std::abs(got / wanted - 1) < 0.05) break;
    size = scaled(shape, size.pixels() * wanted / got);
    jpeg = make(size);
  }
  return jpeg;
}

double synthetic_size(const SyntheticImageOptions& options, uint64_t seed) {
  Random random(mix(seed, 1));
  const double factor = std::exp(options.sigma * normal(random));
  return static_cast<double>(options.median_bytes->bytes) * std::clamp(factor, 1.0 / 16, 16.0);
}

std::string synthetic_class_name(int64_t label) { return fmt::format("class_{:03}", label); }

}  // namespace stoker
