#include "io/device/step_time.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "io/core/random.h"

namespace stoker {
namespace {

constexpr AcceleratorPreset kPresets[] = {
    {656 * 1.24 / 4.37, 6,
     "Quadro K4000 (the 2018 study's workstation): no measurement was found; the K80's, times the "
     "ratio of their peaks (768 cores x 0.81 GHz x 2 = 1.24 TFLOP/s fp32 to 4.37): 186 images/s; 6 "
     "of PCIe 2 x16's 8 GB/s"},
    {656, 12,
     "one GPU of a Tesla K80 (the 2018 study's cluster): 656 images/s as TensorFlow's benchmarks "
     "of May 2017 measured (AlexNet, synthetic data, batch 512, Google Compute Engine); 12 of PCIe "
     "3 x16's 15.8 GB/s"},
    {35500, 54,
     "H100 SXM, 80 GB: 35500 images/s as tests/gpu measured on 2026-11-27 (AlexNet, bf16, channels "
     "last, batch 256); 54 of PCIe 5 x16's 63 GB/s, of the same measurement"},
    {35500, 54,
     "H200: no measurement of ours; the H100's, whose arithmetic it has: 35500 images/s; 54 of "
     "PCIe 5 x16's 63 GB/s"},
};

double standard_normal(Random& random) {
  // Box-Muller; 1 - uniform() is never 0.
  const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
  return radius * std::cos(2 * std::numbers::pi * random.uniform());
}

// Marsaglia and Tsang, "A simple method for generating gamma variables", ACM TOMS 26 (2000),
// section 2; shapes below 1 by the uniform power of section 6.
double standard_gamma(Random& random, double shape) {
  if (shape < 1) {
    const double boost = std::pow(1 - random.uniform(), 1 / shape);
    return standard_gamma(random, shape + 1) * boost;
  }
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = standard_normal(random);
    const double v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(1 - random.uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) {
      return d * v;
    }
  }
}

}  // namespace

EnumNames<StepTime::Type> enum_names(StepTime::Type) {
  return {{"constant", StepTime::Type::constant},
          {"normal", StepTime::Type::normal},
          {"lognormal", StepTime::Type::lognormal},
          {"gamma", StepTime::Type::gamma}};
}

EnumNames<Accelerator> enum_names(Accelerator) {
  return {{"k4000", Accelerator::k4000},
          {"k80", Accelerator::k80},
          {"h100", Accelerator::h100},
          {"h200", Accelerator::h200}};
}

void StepTime::check(const Section& section) const {
  if (type == Type::constant && relative_stdev > 0) {
    section.fail_at(section.node().at, "'relative_stdev' needs a type: normal, lognormal or gamma");
  }
}

double StepTime::sample(double mean, uint64_t seed, int64_t step) const {
  if (relative_stdev == 0) return mean;
  Random random(mix(seed, static_cast<uint64_t>(step)));
  const double variance = relative_stdev * relative_stdev;
  switch (type) {
    case Type::constant:
      return mean;
    case Type::normal:
      return std::max(0.0, mean * (1 + relative_stdev * standard_normal(random)));
    case Type::lognormal: {
      const double sigma2 = std::log(1 + variance);
      return mean * std::exp(std::sqrt(sigma2) * standard_normal(random) - sigma2 / 2);
    }
    case Type::gamma:
      return mean * variance * standard_gamma(random, 1 / variance);
  }
  return mean;
}

double ring_allreduce_s(int64_t ranks, double bytes, double gb_per_s, double latency_us) {
  const auto n = static_cast<double>(ranks);
  return 2 * (n - 1) * latency_us / 1e6 + 2 * (n - 1) / n * bytes / (1e9 * gb_per_s);
}

const AcceleratorPreset& preset(Accelerator accelerator) {
  return kPresets[static_cast<size_t>(accelerator)];
}

const char* preset_help() {
  static const std::string text = [] {
    std::string help =
        "The rate and the bandwidth of a real accelerator, for torchvision's AlexNet at 224 "
        "pixels.";
    for (const auto& [name, accelerator] : enum_names(Accelerator{})) {
      help += std::string(" ") + name + ": " + preset(accelerator).source + ".";
    }
    return help;
  }();
  return text.c_str();
}

}  // namespace stoker
