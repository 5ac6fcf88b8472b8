#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "io/core/error.h"
#include "tests/models/networks/models.h"
#include "tests/support/errors.h"
#include "tests/support/short_tests.h"

namespace stoker {
namespace {

// What every registered network must do.
class EveryModel : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Model> make(const Model::Inputs& inputs, uint64_t seed = 1) const {
    return make_model("{type: " + GetParam() + "}", inputs, seed);
  }
  bool maps() const { return default_component<Model>(GetParam()).info().maps; }
  // Of the logits of a batch.
  std::vector<int64_t> shape(int64_t batch, const Model::Inputs& inputs) const {
    if (!maps()) return {batch, inputs.classes};
    return {batch, inputs.classes, inputs.height, inputs.width};
  }
};

TEST_P(EveryModel, gives_one_logit_per_class_of_the_image_or_of_each_pixel) {
  const Model::Inputs inputs{3, 112, 112, 5};
  EXPECT_EQ(make(inputs)->forward(images(2, inputs)).sizes().vec(), shape(2, inputs));
}

TEST_P(EveryModel, takes_images_that_are_not_square_or_not_in_colour) {
  const Model::Inputs inputs{1, 70, 97, 3};
  EXPECT_EQ(make(inputs)->forward(images(2, inputs)).sizes().vec(), shape(2, inputs));
}

TEST_P(EveryModel, every_parameter_gets_a_gradient) {
  const Model::Inputs inputs{3, 64, 64, 4};
  const auto model = make(inputs);
  const at::Tensor labels =
      maps() ? at::randint(4, {3, 64, 64}, at::kLong) : at::tensor({0, 1, 2}, at::kLong);
  at::cross_entropy_loss(model->forward(images(3, inputs)), labels).backward();
  for (const NamedTensor& item : model->state()) {
    if (!item.trained) continue;
    ASSERT_TRUE(item.tensor.grad().defined()) << item.name;
    EXPECT_GT(item.tensor.grad().abs().max().item<double>(), 0) << item.name;
  }
}

TEST_P(EveryModel, weights_are_a_function_of_the_seed) {
  const Model::Inputs inputs{3, 64, 64, 2};
  const auto first = state_of(*make(inputs, 7));
  const auto same = state_of(*make(inputs, 7));
  const auto other = state_of(*make(inputs, 8));
  bool differs = false;
  for (const auto& [name, value] : first) {
    EXPECT_TRUE(at::equal(value, same.at(name))) << name;
    differs = differs || !at::equal(value, other.at(name));
  }
  EXPECT_TRUE(differs);
}

TEST_P(EveryModel, evaluation_is_the_same_twice_and_does_not_change_its_input) {
  const Model::Inputs inputs{3, 64, 64, 2};
  const auto model = make(inputs);
  model->set_training(false);
  const at::Tensor x = images(2, inputs);
  const at::Tensor copy = x.clone();
  EXPECT_TRUE(at::equal(model->forward(x), model->forward(x)));
  EXPECT_TRUE(at::equal(x, copy));
}

// The largest, which is but for its init and its padding another AlexNet, with STOKER_LONG=1 alone.
std::vector<std::string> networks() {
  std::vector<std::string> names = Registry<Model>::global().names();
  if (stride(2) != 1) std::erase(names, "alexnet_lrn");
  return names;
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryModel, ::testing::ValuesIn(networks()),
                         [](const auto& info) { return info.param; });

TEST(Models, images_too_small_for_the_network_name_the_smallest) {
  const auto error = [](const std::string& type, int64_t height, int64_t width) {
    return error_of([&] { make_model("{type: " + type + "}", {3, height, width, 2}); });
  };
  EXPECT_EQ(error("alexnet", 62, 224),
            "model: alexnet needs images of at least 63 x 63 pixels, got 62 x 224: raise "
            "decoder.size");
  EXPECT_EQ(error("alexnet_lrn", 224, 56),
            "model: alexnet_lrn needs images of at least 57 x 57 pixels, got 224 x 56: raise "
            "decoder.size");
}

TEST(Models, the_smallest_images_work) {
  EXPECT_EQ(
      make_model("{type: alexnet}", {3, 63, 63, 2})->forward(at::zeros({1, 3, 63, 63})).size(1), 2);
  EXPECT_EQ(
      make_model("{type: alexnet_lrn}", {3, 57, 57, 2})->forward(at::zeros({1, 3, 57, 57})).size(1),
      2);
}

TEST(Models, dropout_is_a_probability) {
  EXPECT_EQ(error_of([] {
              make_model("{type: alexnet, dropout: 2}", {3, 63, 63, 2});
            }),
            "test.yaml:1:26: model: 'dropout' must be a number from 0 to 1, got 2");
}

}  // namespace
}  // namespace stoker
