#include "app/train/evaluation.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

TEST(Accuracy, top1_top5_and_the_mean_over_classes) {
  Accuracy accuracy(10);
  // Class 0: three of four right. Class 1: none of one right, its label is second.
  for (int i = 0; i < 3; ++i) accuracy.add(0, 0);
  accuracy.add(0, 7);
  accuracy.add(1, 1);
  EXPECT_EQ(accuracy.samples(), 5);
  EXPECT_DOUBLE_EQ(accuracy.top1(), 3.0 / 5);
  EXPECT_DOUBLE_EQ(accuracy.top5(), 4.0 / 5);
  EXPECT_DOUBLE_EQ(accuracy.mean_per_class(), (0.75 + 0) / 2);
  EXPECT_DOUBLE_EQ(accuracy.chance(), 0.1);
  EXPECT_DOUBLE_EQ(accuracy.largest_class(), 4.0 / 5);
}

}  // namespace
}  // namespace stoker
