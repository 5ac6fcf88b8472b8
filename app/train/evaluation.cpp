#include "app/train/evaluation.h"

#include <fmt/format.h>

#include <algorithm>

namespace stoker {

void EvaluationCounts::add(const at::Tensor& counts, int64_t samples) {
  const at::Tensor host = counts.cpu().contiguous();
  const auto* begin = host.const_data_ptr<int64_t>();
  // The number of samples is the first count, so that it is added up like the others.
  std::vector<int64_t> values{samples};
  values.insert(values.end(), begin, begin + host.numel());
  add(values);
}

void EvaluationCounts::add(const std::vector<int64_t>& values) {
  values_.resize(std::max(values_.size(), values.size()));
  for (size_t i = 0; i < values.size(); ++i) values_[i] += values[i];
}

std::vector<Measure> EvaluationCounts::measures(const Metric& metric) const {
  return metric.measures({values_.begin() + 1, values_.end()});
}

std::string measures_text(const std::map<std::string, double>& measures) {
  std::string text;
  for (const auto& [name, value] : measures) {
    const bool of_labels = name == "top1" || name == "top5";
    // What guessing would get stands in the summary, beside the measures that it explains.
    if (name == "chance" || name == "largest_class" || name == "mean_per_class") continue;
    if (!text.empty()) text += ", ";
    text += of_labels ? fmt::format("top-{} {:.1f} %", name.back(), 100 * value)
                      : fmt::format("{} {:.4f}", name, value);
  }
  return text;
}

}  // namespace stoker
