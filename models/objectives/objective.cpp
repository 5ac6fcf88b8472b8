#include "models/objectives/objective.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <numeric>

namespace stoker {

template <>
Registry<Loss>& Registry<Loss>::global() {
  static Registry registry;
  return registry;
}

template <>
Registry<Metric>& Registry<Metric>::global() {
  static Registry registry;
  return registry;
}

// The counts are: labels among the first five; samples of each class; samples of each class whose
// label was first.

at::Tensor occurrences(const at::Tensor& numbers, int64_t bins, const at::Tensor& times) {
  return at::zeros({bins}, numbers.options()).scatter_add_(0, numbers, times);
}

at::Tensor occurrences(const at::Tensor& numbers, int64_t bins) {
  return occurrences(numbers, bins, at::ones_like(numbers));
}

int64_t label_count_size(int64_t classes) { return 1 + 2 * classes; }

at::Tensor label_counts(const at::Tensor& logits, const at::Tensor& labels) {
  const int64_t classes = logits.size(1);
  const at::Tensor own = logits.gather(1, labels.unsqueeze(1));
  // 0 = the largest. Ties and NaN count against the model, so that one that answers a constant does
  // not look perfect.
  const at::Tensor ranks = logits.lt(own).sum(1).neg().add(classes - 1);
  return at::cat({ranks.lt(5).sum().view(1), occurrences(labels, classes),
                  occurrences(labels, classes, ranks.lt(1).to(at::kLong))});
}

std::vector<Measure> label_measures(std::span<const int64_t> counts) {
  const size_t classes = counts.size() / 2;
  const auto seen = counts.subspan(1, classes), right = counts.subspan(1 + classes, classes);
  const auto samples = static_cast<double>(std::reduce(seen.begin(), seen.end()));
  const auto share = [samples](int64_t part) { return static_cast<double>(part) / samples; };
  double of_classes = 0;
  int64_t with_samples = 0;
  for (size_t i = 0; i < classes; ++i) {
    if (seen[i] == 0) continue;
    of_classes += static_cast<double>(right[i]) / static_cast<double>(seen[i]);
    ++with_samples;
  }
  return {{"top1", share(std::reduce(right.begin(), right.end()))},
          {"top5", share(counts[0])},
          {"mean_per_class", of_classes / static_cast<double>(with_samples)},
          {"chance", 1.0 / static_cast<double>(classes)},
          {"largest_class", share(*std::ranges::max_element(seen))}};
}

}  // namespace stoker
