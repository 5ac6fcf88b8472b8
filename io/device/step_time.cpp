#include "io/device/step_time.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "io/core/random.h"

namespace stoker {
namespace {

constexpr Preset kPresets[] = {
    {"k4000", 87, 6,
     "Quadro K4000: calculated from 1.25 TFLOP/s fp32 peak at 30 % and 4.3 GFLOP an image; PCIe 2 "
     "x16"},
    {"k80", 195, 11,
     "one GPU of a Tesla K80: calculated from 2.8 TFLOP/s fp32 base peak at 30 % and 4.3 GFLOP an "
     "image; PCIe 3 x16"},
    {"h200", 69000, 55,
     "H200: calculated from 989 TFLOP/s bf16 peak at 30 % and 4.3 GFLOP an image; PCIe 5 x16"},
};

double standard_normal(Random& random) {
  // Box-Muller; 1 - uniform() is never 0.
  const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
  return radius * std::cos(2 * std::numbers::pi * random.uniform());
}

// Marsaglia and Tsang, "A simple method for generating gamma variables", ACM TOMS 26 (2000); shapes
// below 1 by their boost with a uniform power.
double standard_gamma(Random& random, double shape) {
  if (shape < 1) {
    const double boost = std::pow(1 - random.uniform(), 1 / shape);
    return standard_gamma(random, shape + 1) * boost;
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = standard_normal(random), v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(1 - random.uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) {
      return d * v;
    }
  }
}

}  // namespace

EnumNames<Distribution> enum_names(Distribution) {
  return {{"constant", Distribution::constant},
          {"normal", Distribution::normal},
          {"lognormal", Distribution::lognormal},
          {"gamma", Distribution::gamma}};
}

double StepTime::sample_ms(uint64_t seed, int64_t step) const {
  if (stdev_ms == 0 || mean_ms == 0) return mean_ms;
  Random random(mix(seed, static_cast<uint64_t>(step)));
  const double relative = stdev_ms / mean_ms;
  switch (distribution) {
    case Distribution::constant:
      return mean_ms;
    case Distribution::normal:
      return std::max(0.0, mean_ms + stdev_ms * standard_normal(random));
    case Distribution::lognormal: {
      const double variance = std::log(1 + relative * relative);
      return mean_ms * std::exp(std::sqrt(variance) * standard_normal(random) - variance / 2);
    }
    case Distribution::gamma: {
      const double shape = 1 / (relative * relative);
      return mean_ms / shape * standard_gamma(random, shape);
    }
  }
  return mean_ms;
}

const Preset* find_preset(const std::string& name) {
  for (const Preset& preset : kPresets) {
    if (name == preset.name) return &preset;
  }
  return nullptr;
}

std::string preset_names() {
  std::string names;
  for (const Preset& preset : kPresets)
    names += (names.empty() ? "" : ", ") + std::string(preset.name);
  return names;
}

}  // namespace stoker
