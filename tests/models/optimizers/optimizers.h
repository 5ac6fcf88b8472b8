#pragma once

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "models/optimizers/optimizer.h"

namespace stoker {

template <class Kind>
std::unique_ptr<Kind> make(const std::string& yaml, const typename Kind::Inputs& inputs) {
  const Node node = parse_yaml(yaml, "test.yaml");
  return Registry<Kind>::global().parse(Section(node, "", Kind::kKind, nullptr)).create(inputs);
}

// Parameters of several shapes and memory formats; the fifth meets no gradient in the first steps.
class Parameters {
 public:
  explicit Parameters(at::ScalarType type) {
    const auto options = at::TensorOptions(type);
    at::manual_seed(3);
    add(at::randn({67, 33}, options));
    add(at::randn({5}, options));
    add(at::randn({}, options));
    add(at::randn({4, 3, 5, 5}, options).contiguous(at::MemoryFormat::ChannelsLast));
    add(at::randn({9, 2}, options));
  }

  const std::vector<at::Tensor>& list() const { return list_; }

  // The gradients of one step, the same for every set of parameters.
  void set_gradients(int step) {
    at::manual_seed(1000 + static_cast<uint64_t>(step));
    for (at::Tensor& parameter : list_) {
      parameter.mutable_grad() = at::randn(parameter.sizes(), parameter.options());
    }
    if (step < 3) list_[4].mutable_grad().reset();
  }
  void add(at::Tensor value) { list_.push_back(value.set_requires_grad(true)); }

 private:
  std::vector<at::Tensor> list_;
};

constexpr int kSteps = 25;
inline double rate(double base, int step) { return base / (1 + 0.1 * step); }

// 25 steps of ours and of the reference (made by `reference` from a list of parameters; its rate is
// set by `set_rate`), with a rate that changes. Returns the largest difference of a parameter.
template <class Make, class SetRate>
double difference(const std::string& yaml, at::ScalarType type, const Make& reference,
                  const SetRate& set_rate) {
  at::set_num_threads(1);  // the tensors are small; waking threads would cost more than the work
  Parameters ours(type);
  Parameters theirs(type);
  const auto optimizer = make<Optimizer>(yaml, {ours.list()});
  auto expected = reference(theirs.list());
  for (int step = 0; step < kSteps; ++step) {
    ours.set_gradients(step);
    theirs.set_gradients(step);
    optimizer->step(rate(optimizer->base_lr(), step));
    set_rate(expected, rate(optimizer->base_lr(), step));
    expected.step();
  }
  double largest = 0;
  for (size_t i = 0; i < ours.list().size(); ++i) {
    const at::Tensor gap = (ours.list()[i] - theirs.list()[i]).abs().max();
    largest = std::max(largest, gap.item<double>());
  }
  return largest;
}

}  // namespace stoker
