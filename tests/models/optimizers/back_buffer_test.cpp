#include "models/optimizers/back_buffer.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/from_blob.h>

#include "io/core/system/memory.h"
#include "tests/models/optimizers/optimizers.h"

namespace stoker {
namespace {

// Every value that an optimizer's course depends on, beside the parameters.
std::vector<at::Tensor> all_state(const Optimizer& optimizer, const Parameters& parameters) {
  std::vector<at::Tensor> all = parameters.list();
  for (const OptimizerState& state : optimizer.state()) {
    all.insert(all.end(), state.tensors.begin(), state.tensors.end());
  }
  return all;
}

// Those of all_state() that an update writes into a back buffer.
std::vector<at::Tensor> moving(const Optimizer& optimizer, const Parameters& parameters) {
  std::vector<at::Tensor> some = parameters.list();
  for (const OptimizerState& state : optimizer.state()) {
    if (state.in_back_buffer) some.insert(some.end(), state.tensors.begin(), state.tensors.end());
  }
  return some;
}

// Memory for tensors, and where each goes.
struct Room {
  explicit Room(const std::vector<at::Tensor>& tensors) {
    size_t total = 64;
    for (const at::Tensor& tensor : tensors) total += rounded_up(tensor.nbytes(), 64);
    memory = allocate_huge(total, true);
    uint8_t* next = memory.data.get();
    for (const at::Tensor& tensor : tensors) {
      places.push_back(next);
      next += rounded_up(tensor.nbytes(), 64);
    }
  }
  BackBuffer back_buffer(const std::vector<at::Tensor>& tensors) const {
    BackBuffer made(memory.data);
    for (size_t i = 0; i < tensors.size(); ++i) made.add(tensors[i], places[i]);
    return made;
  }
  HostMemory memory;
  std::vector<uint8_t*> places;
};

struct BackBufferOf : testing::TestWithParam<std::tuple<const char*, at::ScalarType, int>> {
  void SetUp() override { at::set_num_threads(std::get<2>(GetParam())); }
  void TearDown() override { at::set_num_threads(1); }
};

// Some steps in place, some into a back buffer, which is the memory of the state two moves before.
TEST_P(BackBufferOf, an_update_into_it_is_that_in_place_and_leaves_what_was) {
  const auto& [yaml, type, threads] = GetParam();
  Parameters plain(type), moved(type);
  for (Parameters* each : {&plain, &moved}) {
    at::manual_seed(5);
    each->add(at::randn({3, 16'411}, type));  // pieces, the last one of an odd length
  }
  const auto reference = make<Optimizer>(yaml, {plain.list()});
  const auto optimizer = make<Optimizer>(yaml, {moved.list()});
  const std::vector<at::Tensor> tensors = moving(*optimizer, moved);
  const Room rooms[2] = {Room(tensors), Room(tensors)};
  rooms[0].back_buffer(tensors).finish();
  size_t moves = 0;
  for (int step = 0; step < 9; ++step) {
    plain.set_gradients(step);
    moved.set_gradients(step);
    reference->step(rate(reference->base_lr(), step));
    std::vector<at::Tensor> before, copies;
    if (step % 3 == 2) {
      optimizer->step(rate(optimizer->base_lr(), step));
    } else {
      for (const at::Tensor& tensor : tensors) {
        copies.push_back(tensor.detach().clone());
        before.push_back(at::from_blob(tensor.data_ptr(), tensor.sizes(), tensor.strides(),
                                       tensor.options().requires_grad(false)));
      }
      BackBuffer back = rooms[++moves % 2].back_buffer(tensors);
      optimizer->step_into(back, rate(optimizer->base_lr(), step));
      back.finish();
    }
    const std::vector<at::Tensor> expected = all_state(*reference, plain);
    const std::vector<at::Tensor> got = all_state(*optimizer, moved);
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_TRUE(at::equal(got[i], expected[i])) << yaml << ", step " << step << ", tensor " << i;
    }
    for (size_t i = 0; i < before.size(); ++i) {
      EXPECT_TRUE(at::equal(before[i], copies[i])) << yaml << ", step " << step << ", tensor " << i;
      EXPECT_EQ(tensors[i].data_ptr(), rooms[moves % 2].places[i]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, BackBufferOf,
    testing::Combine(
        testing::Values("{type: sgd, weight_decay: 0.1}", "{type: sgd, momentum: 0.9}",
                        "{type: sgd, momentum: 0.9, nesterov: true, weight_decay: 0.1}",
                        "{type: sgd, momentum: 0.5, dampening: 0.2}",
                        "{type: adam, weight_decay: 0.1}", "{type: adamw}",
                        "{type: larc, weight_decay: 0.1, inner: {type: sgd, momentum: 0.9}}",
                        "{type: larc, mode: scale, inner: {type: adam}}"),
        testing::Values(at::kFloat, at::kDouble), testing::Values(1, 3)));

TEST(BackBuffer, handles_and_views_follow) {
  const at::Tensor tensor = at::randn({70, 3}).set_requires_grad(true);
  const at::Tensor detached = tensor.detach(), row = detached[69];
  const at::Tensor value = detached.clone();
  {
    const Room room({tensor});
    room.back_buffer({tensor}).finish();
  }
  EXPECT_NE(detached.data_ptr(), value.data_ptr());
  EXPECT_EQ(detached.data_ptr(), tensor.data_ptr());
  EXPECT_TRUE(at::equal(detached, value));
  detached.mul_(2);
  EXPECT_TRUE(at::equal(row, value[69] * 2));
}

TEST(BackBuffer, only_optimizers_that_say_so_have_it) {
  for (const char* type : {"sgd", "adam", "adamw", "larc"}) {
    const Node node = parse_yaml(std::string("{type: ") + type + "}", "test.yaml");
    EXPECT_TRUE(Registry<Optimizer>::global()
                    .parse(Section(node, "", Optimizer::kKind, nullptr))
                    .info()
                    .out_of_place);
  }
}

}  // namespace
}  // namespace stoker
