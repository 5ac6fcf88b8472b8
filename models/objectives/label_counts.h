#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "models/objectives/metric.h"

// What metrics of labels share: how often the label was the first, or among the first five, of the
// model's answers. Pure functions; any thread.

namespace stoker {

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
