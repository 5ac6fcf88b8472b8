#pragma once

#include <cstdint>

#include "io/core/config/config.h"

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
      "The distribution of the step times; run.seed seeds it. With `normal`, values below 0 count "
      "as 0.");
    v("relative_stdev", relative_stdev,
      "The standard deviation of a step's time, divided by its mean.", Limits{0, 10});
  }
  // Error(ExitCode::config) for a deviation without a distribution that has one.
  void check(const Section& section) const;

  // The time of step `step`, counted from 0, in the unit of `mean`.
  double sample(double mean, uint64_t seed, int64_t step) const;
};
EnumNames<StepTime::Type> enum_names(StepTime::Type);

// The seconds of a ring all-reduce of `bytes` bytes (Patarasuk and Yuan 2009). Each rank has a link
// of `gb_per_s` 10^9 bytes/s. A pure function.
double ring_allreduce_s(int64_t ranks, double bytes, double gb_per_s, double latency_us);

// Accelerators for which there is a preset.
enum class Accelerator { k4000, k80, h100, h200 };
EnumNames<Accelerator> enum_names(Accelerator);

// What an accelerator does. A measurement where there is one (k80: published; h100: ours), else
// scaled from another's by peak rates (k4000, h200). The share of the bus is assumed but for h100.
struct AcceleratorPreset {
  // Training torchvision's AlexNet at 224 pixels.
  double images_per_s;
  // 1e9 bytes/s from the host to the device.
  double h2d_gb_per_s;
  // Where the figures come from, for people.
  const char* source;
};
// 0.714 GMAC forward, 2 FLOP a MAC, and twice as much backward.
inline constexpr double kAlexNetGflop = 4.3;
// Valid for ever.
const AcceleratorPreset& preset(Accelerator accelerator);
// All sources, for `stoker describe`. Valid for ever.
const char* preset_help();

}  // namespace stoker
