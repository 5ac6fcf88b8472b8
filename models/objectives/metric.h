#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "models/networks/model.h"

namespace stoker {

// A result of an evaluation, a share from 0 to 1. A value.
struct Measure {
  // Its name in the record of the run (Evaluation::measures).
  std::string name;
  double value;
};

// How well the model does on samples that it was not trained on: counts of each batch, which add up
// over batches and ranks, and the measures that their sum gives. Immutable. The trainer's thread.
class Metric {
 public:
  static constexpr const char* kKind = "metric";
  // Whether it is for maps.
  using Info = TargetInfo;
  struct Inputs {
    // Number of classes of the labels, or of the maps.
    int64_t classes;
  };
  virtual ~Metric() = default;
  // The counts of a batch, int64 of one dimension and the same length for all, on the logits'
  // device. Inside Device::run; may wait for the device. Logits and targets as Loss has them; what
  // is no number counts against the model. Error(ExitCode::data) for a target that is no class.
  virtual at::Tensor count(const at::Tensor& logits, const at::Tensor& targets) const = 0;
  // The measures that the sum of all counts gives, for at least one sample. The first measure is
  // the score by which checkpoint.keep_best chooses: more is better.
  virtual std::vector<Measure> measures(const std::vector<int64_t>& counts) const = 0;
};

template <>
Registry<Metric>& Registry<Metric>::global();

}  // namespace stoker
