#include "app/arena/pixels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "app/arena/plan.h"
#include "app/base/npy.h"
#include "app/bench/pixel_values.h"
#include "io/core/error.h"

namespace stoker {
namespace {

constexpr int64_t kChannels = 3;

// The value at `place` as the file has it.
float value_at(const NpyArray& array, size_t place) {
  if (array.type == "|u1") return array.bytes[place];
  float value = 0;
  std::memcpy(&value, array.bytes.data() + place * sizeof value, sizeof value);
  return value;
}

}  // namespace

std::vector<float> read_grey_levels(const std::string& path) {
  const NpyArray array = read_npy(path);
  const bool levels = array.type == "|u1";
  const auto& shape = array.shape;
  const bool planes = shape.size() == 4 && shape[1] == kChannels;
  const bool rows = shape.size() == 4 && shape[3] == kChannels && !planes;
  if ((!planes && !rows) || (!levels && array.type != "<f4")) {
    throw Error(ExitCode::environment,
                path + ": expected N x 3 x H x W or N x H x W x 3 of uint8 or float32");
  }
  const auto area = static_cast<size_t>(planes ? shape[2] * shape[3] : shape[1] * shape[2]);
  std::vector<float> result(static_cast<size_t>(array.size()));
  for (size_t image = 0; image < static_cast<size_t>(shape[0]); ++image) {
    for (size_t channel = 0; channel < kChannels; ++channel) {
      for (size_t place = 0; place < area; ++place) {
        const size_t from =
            planes ? channel * area + place : place * static_cast<size_t>(kChannels) + channel;
        const float value = value_at(array, image * kChannels * area + from);
        const double level = levels ? value : std::clamp(grey_level(value, channel), 0.0, 255.0);
        result[(image * kChannels + channel) * area + place] = static_cast<float>(level);
      }
    }
  }
  return result;
}

PixelDifference compare_pixels(const std::vector<float>& pixels, const std::vector<float>& other) {
  if (pixels.size() != other.size() || pixels.empty()) {
    throw Error(ExitCode::data, fmt::format("pixels: {} values against {}: not the same images",
                                            pixels.size(), other.size()));
  }
  std::vector<float> differences(pixels.size());
  double sum = 0;
  for (size_t i = 0; i < pixels.size(); ++i) {
    differences[i] = std::abs(pixels[i] - other[i]);
    sum += differences[i];
  }
  const auto rank =
      differences.begin() + static_cast<std::ptrdiff_t>((differences.size() * 99) / 100);
  std::nth_element(differences.begin(), rank, differences.end());
  const double p99 = *rank;
  const double max = *std::max_element(rank, differences.end());
  return {"", sum / static_cast<double>(pixels.size()), p99, max, ""};
}

std::map<std::string, PixelDifference> compare_all_pixels(const ArenaOptions& options,
                                                          const std::string& directory) {
  const auto is_written = [&](const ArenaEntry& entry) {
    return !entry.pixels.empty() && std::filesystem::exists(pixel_file(directory, entry));
  };
  std::map<std::string, PixelDifference> result;
  for (const ArenaEntry& reference : options.entries) {
    if (!reference.reference || !is_written(reference)) continue;
    for (const ArenaEntry& entry : options.entries) {
      if (entry.klass != reference.klass || !is_written(entry)) continue;
      PixelDifference difference;
      try {
        difference = compare_pixels(read_grey_levels(pixel_file(directory, entry)),
                                    read_grey_levels(pixel_file(directory, reference)));
      } catch (const Error& error) {
        difference.error = error.what();
      }
      difference.reference = reference.name;
      result[entry.name] = difference;
    }
  }
  return result;
}

}  // namespace stoker
