#include <ATen/ops/arange.h>
#include <ATen/ops/cross_entropy_loss.h>

#include <cmath>

#include "models/optimizers/optimizer.h"
#include "tests/models/networks/models.h"

// What takes networks of their whole size, which are seconds of a core each.

namespace stoker {
namespace {

TEST(WholeNetworks, parameter_counts_are_those_of_the_literature) {
  const auto count = [](const std::string& type, int64_t classes) {
    return parameter_count(*make_model("{type: " + type + "}", {3, 224, 224, classes}));
  };
  EXPECT_EQ(count("alexnet", 1000), 61'100'840);
  EXPECT_EQ(count("alexnet", 102), 57'421'734);
  EXPECT_EQ(count("alexnet_lrn", 102), 58'699'238);
  EXPECT_EQ(count("resnet18", 1000), 11'689'512);
  EXPECT_EQ(count("hepcnnb", 2), 594'178);
  EXPECT_EQ(count("linear", 102), 3 * 224 * 224 * 102 + 102);
}

TEST(WholeNetworks, alexnet_learns_four_images_by_heart) {
  const Model::Inputs inputs{3, 64, 64, 4};
  const auto model = make_model("{type: alexnet, dropout: 0}", inputs);
  const Node node = parse_yaml("{type: adam, lr: 3e-4}", "test.yaml");
  const auto optimizer = Registry<Optimizer>::global()
                             .parse(Section(node, "", "optimizer", nullptr))
                             .create({parameters(*model)});
  const at::Tensor x = images(4, inputs);
  const at::Tensor labels = at::arange(4);
  double first = 0;
  double last = 0;
  for (int step = 0; step < 15; ++step) {
    for (const at::Tensor& parameter : parameters(*model)) parameter.mutable_grad().reset();
    const at::Tensor loss = at::cross_entropy_loss(model->forward(x), labels);
    loss.backward();
    optimizer->step(optimizer->base_lr());
    last = loss.item<double>();
    if (step == 0) first = last;
  }
  EXPECT_NEAR(first, std::log(4.0), 0.05);  // a guess among four
  EXPECT_LT(last, 0.3);
}

}  // namespace
}  // namespace stoker
