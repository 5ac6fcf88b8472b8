#pragma once

#include <ATen/Context.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/objectives/objective.h"

namespace stoker {

// create<Loss>("{type: cross_entropy}", inputs)
template <class T>
std::unique_ptr<T> create(const std::string& yaml, const typename T::Inputs& inputs) {
  const Node node = parse_yaml(yaml, "test.yaml");
  return Registry<T>::global().parse(Section(node, "", T::kKind, nullptr)).create(inputs);
}

inline double loss_of(const std::string& yaml, const at::Tensor& logits, const at::Tensor& targets,
                      double smoothing = 0) {
  const auto loss = create<Loss>(yaml, {logits.size(1), at::kCPU, smoothing});
  return (*loss)(logits, targets).item<double>();
}

// What a metric comes to over batches, and its names in their order.
struct Measured {
  std::map<std::string, double> values;
  std::vector<std::string> names;
};

inline Measured measure(const std::string& yaml, const std::vector<at::Tensor>& logits,
                        const std::vector<at::Tensor>& targets) {
  const auto metric = create<Metric>(yaml, {logits.front().size(1)});
  at::Tensor counts = metric->count(logits.front(), targets.front());
  for (size_t i = 1; i < logits.size(); ++i) counts += metric->count(logits[i], targets[i]);
  const auto* begin = counts.const_data_ptr<int64_t>();
  Measured measured;
  for (const Measure& each : metric->measures({begin, begin + counts.numel()})) {
    measured.values[each.name] = each.value;
    measured.names.push_back(each.name);
  }
  return measured;
}

}  // namespace stoker
