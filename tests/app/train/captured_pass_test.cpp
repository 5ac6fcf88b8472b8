
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <utility>

#include "app/train/step.h"
#include "io/core/error.h"
#include "models/networks/network.h"

namespace stoker {
namespace {

// What a graph of the device may do, on the CPU: capturing computes nothing and leaves gradients
// without values; a replay writes the memory that the capture left, and changes nothing that the
// host holds.
struct Recorded {
  int captures = 0;
  int replays = 0;
  std::vector<at::Tensor> parameters;
  std::vector<at::Tensor> buffers;
};

class FakeGraph final : public StepGraph {
 public:
  explicit FakeGraph(Recorded& recorded) : recorded_(recorded) {}

  void capture(const std::function<void()>& work) override {
    ++recorded_.captures;
    at::Generator generator = at::globalContext().defaultGenerator(at::kCPU);
    const at::Tensor random = generator.get_state();
    std::vector<at::Tensor> buffers;
    for (const at::Tensor& buffer : recorded_.buffers) buffers.push_back(buffer.clone());
    work_ = work;
    work_();
    generator.set_state(random);
    for (size_t i = 0; i < buffers.size(); ++i) recorded_.buffers[i].copy_(buffers[i]);
    for (const at::Tensor& parameter : recorded_.parameters) {
      gradients_.push_back(parameter.grad());
      gradients_.back().fill_(std::numeric_limits<double>::quiet_NaN());
    }
  }

  void replay() override {
    ++recorded_.replays;
    std::vector<at::Tensor> held;
    for (const at::Tensor& parameter : recorded_.parameters) held.push_back(parameter.grad());
    work_();
    for (size_t i = 0; i < held.size(); ++i) {
      gradients_[i].copy_(recorded_.parameters[i].grad());
      recorded_.parameters[i].mutable_grad() = held[i];
    }
  }

 private:
  Recorded& recorded_;
  std::function<void()> work_;
  std::vector<at::Tensor> gradients_;
};

// A bit of everything that a step changes: random numbers, statistics, weights.
class SmallModel final : public Network {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
  };
  SmallModel(Options, const Inputs& inputs)
      : conv_(register_module("conv", torch::nn::Conv2d(3, 4, 3))),
        norm_(register_module("norm", torch::nn::BatchNorm2d(4))),
        dropout_(register_module("dropout", torch::nn::Dropout(0.5))),
        linear_(register_module("linear", torch::nn::Linear(4, inputs.classes))) {}
  at::Tensor forward(at::Tensor x) override {
    x = norm_->forward(conv_->forward(x)).relu().mean({2, 3});
    return linear_->forward(dropout_->forward(x));
  }

 private:
  torch::nn::Conv2d conv_;
  torch::nn::BatchNorm2d norm_;
  torch::nn::Dropout dropout_;
  torch::nn::Linear linear_;
};

STOKER_REGISTER(Model, "small_for_graphs", SmallModel);

ExperimentOptions captured_options(const std::string& on_device) {
  const std::string path = ::testing::TempDir() + "captured_pass.yaml";
  std::ofstream(path) << "device: {type: auto}\n"
                         "dataset: {type: synthetic, samples: 64, test_samples: 0, unique: 16}\n"
                         "decoder: {type: jpeg, size: 32, on_device: " +
                             on_device +
                             "}\n"
                             "loader: {type: sync, batch_size: 8}\n"
                             "model: {type: small_for_graphs}\n"
                             "optimizer: {type: sgd, lr: 0.1, momentum: 0.9}\n";
  return read_experiment(path, {"device.type=cpu"});
}

// Six steps, the last but one with `fifth` samples: losses, and the weights after them.
struct PassOutcome {
  std::vector<double> losses;
  std::vector<at::Tensor> parameters;
};

PassOutcome train(const std::string& on_device, int64_t fifth, Recorded* recorded) {
  at::set_num_threads(1);
  ExperimentOptions options = captured_options(on_device);
  // Of a real run the device's type is checked; this one brings its own graph.
  options.training.cuda_graph = recorded != nullptr;
  Experiment experiment(options, [](const std::string&) {});
  at::manual_seed(7);
  TrainStep step(experiment, 6, 6,
                 recorded ? std::make_unique<FakeGraph>(*recorded) : std::unique_ptr<FakeGraph>());
  if (recorded != nullptr) {
    for (const NamedTensor& item : step.model().state()) {
      (item.trained ? recorded->parameters : recorded->buffers).push_back(item.tensor);
    }
  }
  const std::unique_ptr<Loader> loader = experiment.make_loader(Split::train);
  loader->start(0, 0);
  PassOutcome outcome;
  for (int64_t i = 0; i < 6; ++i) {
    DeviceBatch batch = experiment.device().copy(*loader->next(), experiment.decoder().spec());
    if (i == 4) {
      batch.images = batch.images.narrow(0, 0, fifth);
      batch.labels = batch.labels.narrow(0, 0, fifth);
    }
    step.pass(batch, i);
    step.update(i, nullptr);
    outcome.losses.push_back(step.loss());
    // Evaluates in between.
    outcome.losses.push_back(step.predict(batch).sum().item<double>());
  }
  for (const at::Tensor& p : parameters(step.model())) outcome.parameters.push_back(p.detach());
  return outcome;
}

void expect_equal(const PassOutcome& actual, const PassOutcome& expected) {
  EXPECT_EQ(actual.losses, expected.losses);
  ASSERT_EQ(actual.parameters.size(), expected.parameters.size());
  for (size_t i = 0; i < expected.parameters.size(); ++i) {
    EXPECT_TRUE(actual.parameters[i].equal(expected.parameters[i])) << i;
  }
}

TEST(CapturedPass, six_steps_are_those_without_a_graph_to_the_bit) {
  Recorded recorded;
  expect_equal(train("nothing", 8, &recorded), train("nothing", 8, nullptr));
  EXPECT_EQ(recorded.captures, 1);
  EXPECT_EQ(recorded.replays, 6 - CapturedPass::kEagerPasses);
}

TEST(CapturedPass, also_where_the_device_resizes_frames) {
  Recorded recorded;
  expect_equal(train("resize", 8, &recorded), train("resize", 8, nullptr));
  EXPECT_EQ(recorded.captures, 1);
  EXPECT_EQ(recorded.replays, 6 - CapturedPass::kEagerPasses);
}

TEST(CapturedPass, a_batch_of_another_size_runs_without_it_and_the_next_one_with_it) {
  Recorded recorded;
  expect_equal(train("nothing", 5, &recorded), train("nothing", 5, nullptr));
  EXPECT_EQ(recorded.captures, 1);
  EXPECT_EQ(recorded.replays, 2);
}

at::Tensor constant(int64_t size, double value) { return at::full({size}, value); }

TEST(CapturedPass, every_replay_reads_the_batch_at_one_place) {
  Recorded recorded;
  std::vector<const void*> places;
  CapturedPass pass(std::make_unique<FakeGraph>(recorded), {},
                    [&](const at::Tensor& images, const at::Tensor& labels) {
                      places.push_back(images.const_data_ptr());
                      return (images * labels).sum();
                    });
  at::Tensor loss;
  for (int i = 0; i < 8; ++i) {
    loss = pass(constant(4, i), constant(4, 10));
    EXPECT_EQ(loss.item<double>(), 4 * 10 * i);
  }
  ASSERT_EQ(recorded.replays, 5);
  const void* place = places.back();
  EXPECT_EQ(std::count(places.end() - 6, places.end(), place), 6);
}

TEST(CapturedPass, the_shape_that_is_captured_came_before) {
  Recorded recorded;
  CapturedPass pass(std::make_unique<FakeGraph>(recorded), {},
                    [](const at::Tensor& images, const at::Tensor&) { return images.sum(); });
  for (int i = 0; i < 3; ++i) pass(constant(4, 1), constant(4, 0));
  pass(constant(2, 1), constant(2, 0));
  EXPECT_EQ(recorded.captures, 0);
  for (int i = 0; i < CapturedPass::kEagerPasses; ++i) pass(constant(4, 1), constant(4, 0));
  EXPECT_EQ(recorded.captures, 0);
  EXPECT_EQ(pass(constant(4, 2), constant(4, 0)).item<double>(), 8);
  EXPECT_EQ(recorded.captures, 1);
}

ExitCode refusal(at::Device device, const std::string& reason) {
  try {
    make_step_graph(device);
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
    return error.code();
  }
  return ExitCode::ok;
}

TEST(CapturedPass, says_what_is_missing) {
  EXPECT_EQ(refusal(at::kCPU, "the device of this run is cpu"), ExitCode::config);
  EXPECT_EQ(refusal({at::kCUDA, 0}, "needs the plug-in stoker_cuda.so"), ExitCode::device);
}

}  // namespace
}  // namespace stoker
