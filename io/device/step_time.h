#pragma once

#include <cstdint>

#include "io/core/config.h"

// How long the steps and copies of an emulated device take. Values; any thread.

namespace stoker {

// The distribution of a step's time around its mean. A sample is a pure function of (seed, step),
// never negative. A value; any thread.
struct StepTime {
  enum class Type { constant, normal, lognormal, gamma };

  Type type = Type::constant;
  // Standard deviation / mean. 0: every step takes the mean, whatever the type.
  double relative_stdev = 0;

  template <class V>
  void visit(V& v) {
    v("type", type,
      "distribution of the step times, seeded by run.seed; normal: values below 0 count as 0");
    v("relative_stdev", relative_stdev, "standard deviation / mean", Limits{0, 10});
  }
  // Error(ExitCode::config) for a deviation without a distribution that has one.
  void check(const Section& section) const;

  // The time of step `step`, counted from 0, in the unit of `mean`.
  double sample(double mean, uint64_t seed, int64_t step) const;
};
EnumNames<StepTime::Type> enum_names(StepTime::Type);

// Accelerators for which there is a preset.
enum class Accelerator { k4000, k80, h200 };
EnumNames<Accelerator> enum_names(Accelerator);

// What an accelerator would do, by calculation and not by measurement: torchvision's AlexNet at 224
// pixels needs 0.714 GMAC forward, so 4.3 GFLOP per training image (forward and backward, 2 FLOP a
// MAC); images/s = peak FLOP/s * 30 % / that. The 30 % and the share of the bus are assumptions.
struct AcceleratorPreset {
  double images_per_s;  // trained on
  // 1e9 bytes/s from the host to the device.
  double h2d_gb_per_s;
  // The figures it was calculated from, for people.
  const char* source;
};
// Valid for ever.
const AcceleratorPreset& preset(Accelerator accelerator);
// All sources, for `stoker describe`. Valid for ever.
const char* preset_help();

}  // namespace stoker
