#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "models/objectives/metric.h"

// What metrics of labels share: how often the label was the first, or among the first five, of the
// model's answers. Pure functions; any thread.

namespace stoker {

// How many counts there are.
int64_t label_count_size(int64_t classes);
// Counts a batch: int64 [label_count_size()], on its device. logits [N, classes], labels int64 [N].
at::Tensor label_counts(const at::Tensor& logits, const at::Tensor& labels);
// top1, top5, mean_per_class (Caltech's measure: the mean of each class's top-1, over the classes
// that had samples), and what guessing at random (chance) and always guessing the commonest class
// (largest_class) would get.
std::vector<Measure> label_measures(std::span<const int64_t> counts);

}  // namespace stoker
