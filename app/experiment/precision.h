#pragma once

#include <c10/core/DeviceType.h>

#include "io/core/config/config.h"

namespace stoker {

// training.precision: the number format in which the model computes. Weights and optimizer are fp32
// with both.
enum class Precision { fp32, bf16 };
// fp32, bf16.
EnumNames<Precision> enum_names(Precision);

// Whether LibTorch has kernels for bf16 on this CPU (x86: those with AVX-512). Plain loops stand in
// for them, about a hundred times slower than fp32.
bool cpu_has_bf16_kernels();
// The message for a CPU without these kernels: the fact, and what to do.
inline constexpr const char* kNoBf16Kernels =
    "this CPU has no fast bf16 (AVX-512 is needed): steps take about a hundred times as long as "
    "with "
    "training.precision: fp32";

// While it lives, this thread's operations on `device` run as `precision` says: bf16 is LibTorch's
// autocast, which keeps weights and sensitive operations in fp32. Objects of one thread may nest;
// each is destroyed by the thread that made it.
class PrecisionScope {
 public:
  // device: whose operations are meant; those on another one stay as they are.
  PrecisionScope(Precision precision, c10::DeviceType device);
  ~PrecisionScope();
  PrecisionScope(const PrecisionScope&) = delete;
  PrecisionScope& operator=(const PrecisionScope&) = delete;

 private:
  const bool active_;
  const c10::DeviceType device_;
};

}  // namespace stoker
