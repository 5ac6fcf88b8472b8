#pragma once

#include <gtest/gtest.h>
#include <torch/types.h>

#include <map>
#include <memory>
#include <string>

#include "models/model.h"

namespace stoker {

// The model that a YAML mapping such as {type: alexnet} describes, with the weights of `seed`.
inline std::shared_ptr<Model> make_model(const std::string& yaml, const Model::Inputs& inputs,
                                         uint64_t seed = 1) {
  at::manual_seed(seed);
  const Node node = parse_yaml(yaml, "test.yaml");
  return Registry<Model>::global().parse(Section(node, "", "model", nullptr)).create(inputs);
}

inline int64_t parameter_count(const Model& model) {
  int64_t count = 0;
  for (const torch::Tensor& parameter : model.parameters()) count += parameter.numel();
  return count;
}

// Parameters and buffers by name.
inline std::map<std::string, torch::Tensor> state_of(const Model& model) {
  std::map<std::string, torch::Tensor> state;
  for (const auto& item : model.named_parameters()) state[item.key()] = item.value();
  for (const auto& item : model.named_buffers()) state[item.key()] = item.value();
  return state;
}

inline torch::Tensor images(int64_t batch, const Model::Inputs& inputs) {
  return at::randn({batch, inputs.channels, inputs.height, inputs.width});
}

// Equal within the rounding of fp32 sums in another order.
inline void expect_close(const torch::Tensor& actual, const torch::Tensor& expected) {
  ASSERT_EQ(actual.sizes(), expected.sizes());
  const double scale = expected.abs().max().item<double>();
  EXPECT_LT((actual - expected).abs().max().item<double>(), 1e-5 * scale) << "of " << scale;
}

}  // namespace stoker
