#pragma once

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "models/networks/model.h"

namespace stoker {

// The model that a YAML mapping such as {type: alexnet} describes, with the weights of `seed`.
inline std::unique_ptr<Model> make_model(const std::string& yaml, const Model::Inputs& inputs,
                                         uint64_t seed = 1) {
  at::manual_seed(seed);
  const Node node = parse_yaml(yaml, "test.yaml");
  return Registry<Model>::global().parse(Section(node, "", "model", nullptr)).create(inputs);
}

inline int64_t parameter_count(const Model& model) {
  int64_t count = 0;
  for (const at::Tensor& parameter : parameters(model)) count += parameter.numel();
  return count;
}

// Parameters and buffers by name.
inline std::map<std::string, at::Tensor> state_of(const Model& model) {
  std::map<std::string, at::Tensor> state;
  for (const NamedTensor& item : model.state()) state[item.name] = item.tensor;
  return state;
}

inline at::Tensor images(int64_t batch, const Model::Inputs& inputs) {
  return at::randn({batch, inputs.channels, inputs.height, inputs.width});
}

// Equal within the rounding of fp32 sums in another order.
inline void expect_close(const at::Tensor& actual, const at::Tensor& expected) {
  ASSERT_EQ(actual.sizes(), expected.sizes());
  const double scale = expected.abs().max().item<double>();
  EXPECT_LT((actual - expected).abs().max().item<double>(), 1e-5 * scale) << "of " << scale;
}

}  // namespace stoker
