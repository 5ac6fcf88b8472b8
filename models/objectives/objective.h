#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/networks/model.h"

namespace stoker {

// What training minimises. Immutable. The trainer's thread, inside Device::run.
class Loss {
 public:
  static constexpr const char* kKind = "loss";
  // Whether it is for maps.
  using Info = TargetInfo;
  struct Inputs {
    // Number of classes of the labels, or of the maps.
    int64_t classes;
    // The device of the logits and targets.
    at::Device device;
    // training.label_smoothing: the share of a target that all classes have in equal parts.
    double label_smoothing;
  };
  virtual ~Loss() = default;
  // The mean over samples, or over pixels for maps: a scalar with a gradient. The losses of the
  // parts of a batch, weighted by their samples, add up to that of the whole.
  //
  // logits: float32 [N, classes]; for maps [N, classes, height, width]. targets: int64 [N]; for
  // maps uint8 or int64 [N, height, width]. Queued on the current stream; nothing is waited for.
  // Error(ExitCode::data), on the CPU, for a target that is no class.
  virtual at::Tensor operator()(const at::Tensor& logits, const at::Tensor& targets) const = 0;
};

template <>
Registry<Loss>& Registry<Loss>::global();

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

// What metrics of labels share: how often the label was the first, or among the first five, of the
// model's answers. Pure functions; any thread.

// How often each number from 0 to `bins` - 1 is in `numbers` (int64, none beyond): int64 [bins] on
// their device. `times`: how often each of them counts, int64 like `numbers`. at::bincount waits
// for the device, to see how large the result is.
at::Tensor occurrences(const at::Tensor& numbers, int64_t bins, const at::Tensor& times);
at::Tensor occurrences(const at::Tensor& numbers, int64_t bins);
// How many counts there are.
int64_t label_count_size(int64_t classes);
// Counts a batch: int64 [label_count_size()], on its device. logits [N, classes], labels int64 [N].
at::Tensor label_counts(const at::Tensor& logits, const at::Tensor& labels);
// top1, top5, mean_per_class (Caltech's measure: the mean of each class's top-1, over the classes
// that had samples), and what guessing at random (chance) and always guessing the commonest class
// (largest_class) would get.
std::vector<Measure> label_measures(std::span<const int64_t> counts);

}  // namespace stoker
