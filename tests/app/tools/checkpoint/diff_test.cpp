#include "app/tools/checkpoint/diff.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/app/tools/checkpoint/tensors.h"

namespace stoker {
namespace {

std::vector<long double> values_of(const std::string& dtype, const std::vector<uint8_t>& bytes) {
  std::vector<long double> values;
  element_values(dtype, bytes, values);
  return values;
}

TEST(Diff, equal_tensors_are_identical_in_any_order) {
  MemoryTensors a, b;
  one_of_each(a);
  b.add<float>("empty", "F32", {0, 4}, std::vector<float>());
  for (size_t i = 0; i + 1 < a.tensors().size(); ++i) {
    const TensorInfo& tensor = a.tensors()[i];
    b.add(tensor.name, tensor.dtype, tensor.shape, all_bytes(a, i));
  }
  const CheckpointDifference result = compare_checkpoints(a, b);
  EXPECT_TRUE(result.identical());
  EXPECT_EQ(result.tensors, a.tensors().size());
  EXPECT_EQ(result.equal, result.tensors);
  EXPECT_FALSE(result.beyond(0));
}

TEST(Diff, it_says_how_far_values_are_apart) {
  MemoryTensors a, b;
  a.add<float>("x", "F32", {4}, {1, 2, -4, 0}).add<float>("same", "F32", {1}, {7});
  b.add<float>("x", "F32", {4}, {1, 2.5, -8, 0}).add<float>("same", "F32", {1}, {7});
  const CheckpointDifference result = compare_checkpoints(a, b);
  ASSERT_EQ(result.others.size(), 1u);
  const TensorDifference& x = result.others[0];
  EXPECT_EQ(x.kind, "values");
  EXPECT_EQ(x.elements, 4u);
  EXPECT_EQ(x.different, 2u);
  EXPECT_DOUBLE_EQ(x.largest, 4);
  EXPECT_DOUBLE_EQ(x.mean, 4.5 / 4);
  EXPECT_DOUBLE_EQ(x.relative, 0.5);
  EXPECT_EQ(result.equal, 1u);
  EXPECT_TRUE(result.beyond(3.9));
  EXPECT_FALSE(result.beyond(4));
}

TEST(Diff, whole_numbers_differ_by_their_last_bit) {
  constexpr int64_t kBig = 1ll << 53;
  MemoryTensors a, b;
  a.add<int64_t>("x", "I64", {2}, {kBig, INT64_MIN});
  b.add<int64_t>("x", "I64", {2}, {kBig + 1, INT64_MIN + 1});
  const CheckpointDifference result = compare_checkpoints(a, b);
  ASSERT_EQ(result.others.size(), 1u);
  EXPECT_EQ(result.others[0].different, 2u);
  EXPECT_EQ(result.others[0].largest, 1);
  EXPECT_TRUE(result.beyond(0));
}

TEST(Diff, what_only_one_has_or_has_in_another_shape_is_beyond_any_tolerance) {
  MemoryTensors a, b;
  a.add<float>("only_a", "F32", {1}, {1}).add<float>("x", "F32", {2, 1}, {1, 2});
  b.add<float>("only_b", "F32", {1}, {1}).add<float>("x", "F32", {1, 2}, {1, 2});
  const CheckpointDifference result = compare_checkpoints(a, b);
  std::map<std::string, std::string> kinds;
  for (const TensorDifference& one : result.others) kinds[one.name] = one.kind;
  EXPECT_EQ(kinds, (std::map<std::string, std::string>{
                       {"only_a", "only in A"}, {"only_b", "only in B"}, {"x", "shape"}}));
  EXPECT_TRUE(result.beyond(1e300));
}

TEST(Diff, other_types_are_compared_by_their_values) {
  MemoryTensors a, b;
  a.add<float>("x", "F32", {2}, {1, -2}).add<float>("y", "F32", {1}, {1.001f});
  b.add<uint16_t>("x", "BF16", {2}, {0x3f80, 0xc000}).add<uint16_t>("y", "F16", {1}, {0x3c01});
  const CheckpointDifference result = compare_checkpoints(a, b);
  ASSERT_EQ(result.others.size(), 2u);
  EXPECT_EQ(result.others[0].kind, "type");
  EXPECT_EQ(result.others[0].different, 0u);
  EXPECT_NEAR(result.others[1].largest, 1.001 - 1.0009765625, 1e-7);
  EXPECT_FALSE(result.identical());
  EXPECT_FALSE(result.beyond(1e-4));
}

TEST(Diff, no_number_beside_a_number_is_infinitely_far) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinite = std::numeric_limits<double>::infinity();
  MemoryTensors a, b;
  a.add<double>("nan", "F64", {2}, {nan, 1}).add<double>("both", "F64", {2}, {nan, infinite});
  b.add<double>("nan", "F64", {2}, {0, 1}).add<double>("both", "F64", {2}, {-nan, infinite});
  const CheckpointDifference result = compare_checkpoints(a, b);
  ASSERT_EQ(result.others.size(), 2u);
  EXPECT_EQ(result.others[0].name, "both");  // other bits, and the same values
  EXPECT_EQ(result.others[0].different, 0u);
  EXPECT_EQ(result.others[1].largest, infinite);
  EXPECT_TRUE(result.beyond(1e300));
}

TEST(Diff, elements_of_half_precision_are_exact) {
  EXPECT_EQ(
      values_of("F16", {0x00, 0x3c, 0x00, 0xc0, 0xff, 0x7b, 0x01, 0x00, 0x00, 0x04, 0x00, 0x80}),
      (std::vector<long double>{1, -2, 65504, 0x1p-24, 0x1p-14, -0.0}));
  EXPECT_TRUE(std::isnan(values_of("F16", {0x01, 0x7c})[0]));
  EXPECT_TRUE(std::isinf(values_of("F16", {0x00, 0xfc})[0]));
  EXPECT_EQ(values_of("BF16", {0x80, 0x3f, 0x00, 0xc0}), (std::vector<long double>{1, -2}));
  EXPECT_EQ(values_of("I8", {0xff, 0x7f}), (std::vector<long double>{-1, 127}));
  EXPECT_EQ(values_of("BOOL", {0, 1}), (std::vector<long double>{0, 1}));
}

}  // namespace
}  // namespace stoker
