#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "io/core/config.h"

namespace stoker {

enum class Distribution { constant, normal, lognormal, gamma };
EnumNames<Distribution> enum_names(Distribution);

// How long the steps of an emulated device take: a pure function of (seed, step). Never negative.
struct StepTime {
  Distribution distribution = Distribution::constant;
  double mean_ms = 0;
  double stdev_ms = 0;
  double sample_ms(uint64_t seed, int64_t step) const;
};

// What an accelerator of the past or present would do, by calculation, not measurement: AlexNet
// needs about 4.3 GFLOP per training image; rate = peak * utilisation / that. `source` says which
// figures.
struct Preset {
  const char* name;
  double images_per_s;
  double h2d_gb_per_s;
  const char* source;
};
// Null: unknown.
const Preset* find_preset(const std::string& name);
std::string preset_names();

}  // namespace stoker
