#include "io/dataset/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "io/core/error.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

SplitOptions parse_split(const std::string& yaml) {
  const Node node = parse_yaml(yaml, "test.yaml");
  SplitOptions options;
  read_struct(Section(node, "dataset", "split", nullptr), options);
  return options;
}

ClassSplit split(const std::string& yaml, size_t images, const std::string& name = "ketch",
                 uint64_t seed = 1) {
  return split_class(parse_split(yaml), images, name, seed);
}

TEST(Split, trains_on_all_images_where_nothing_is_said) {
  const ClassSplit result = split("{}", 3);
  EXPECT_EQ(result.train, (std::vector<size_t>{0, 1, 2}));
  EXPECT_TRUE(result.test.empty());
}

TEST(Split, takes_n_images_of_a_class_to_train_on_and_the_others_to_test_on) {
  const ClassSplit result = split("{train_per_class: 30}", 114);
  EXPECT_EQ(result.train.size(), 30u);
  EXPECT_EQ(result.test.size(), 84u);
  std::set<size_t> all(result.train.begin(), result.train.end());
  all.insert(result.test.begin(), result.test.end());
  EXPECT_EQ(all.size(), 114u);
  EXPECT_EQ(*all.rbegin(), 113u);
  EXPECT_TRUE(std::is_sorted(result.train.begin(), result.train.end()));
  EXPECT_TRUE(std::is_sorted(result.test.begin(), result.test.end()));
}

TEST(Split, tests_on_at_most_m_images_of_a_class) {
  EXPECT_EQ(split("{train_per_class: 30, test_per_class: 50}", 114).test.size(), 50u);
  EXPECT_EQ(split("{train_per_class: 30, test_per_class: 50}", 31).test.size(), 1u);
  EXPECT_EQ(split("{train_per_class: 30, test_per_class: 0}", 30).test.size(), 0u);
  EXPECT_EQ(split("{train_per_class: 30, test_per_class: 0}", 30).train.size(), 30u);
}

TEST(Split, takes_a_share_of_each_class_and_never_all_of_it) {
  EXPECT_EQ(split("{test_fraction: 0.1}", 114).test.size(), 11u);
  EXPECT_EQ(split("{test_fraction: 0.1}", 114).train.size(), 103u);
  EXPECT_EQ(split("{test_fraction: 0.9}", 1).train.size(), 1u);
  EXPECT_EQ(split("{test_fraction: 0.9}", 2).train.size(), 1u);
  EXPECT_EQ(split("{test_fraction: 0}", 10).test.size(), 0u);
}

TEST(Split, is_a_function_of_seed_and_class) {
  const std::string protocol = "{train_per_class: 30}";
  const ClassSplit first = split(protocol, 114);
  EXPECT_EQ(split(protocol, 114).train, first.train);
  EXPECT_NE(split(protocol, 114, "ketch", 2).train, first.train);
  EXPECT_NE(split(protocol, 114, "bonsai").train, first.train);
}

TEST(Split, gives_every_image_the_same_chance) {
  std::vector<int> taken(10);
  for (uint64_t seed = 0; seed < 10'000; ++seed) {
    for (const size_t i : split("{train_per_class: 3}", 10, "ketch", seed).train) ++taken[i];
  }
  // 3,000 expected each; six standard deviations are 275.
  for (const int count : taken) EXPECT_NEAR(count, 3'000, 275);
}

TEST(Split, a_class_that_is_too_small_is_named) {
  EXPECT_EQ(error_of([] { split("{train_per_class: 30}", 30); }),
            "dataset: class 'ketch' has 30 images, but split.train_per_class: 30 needs 31 (one to "
            "test on): lower it, or leave the class out with dataset.exclude");
  EXPECT_EQ(error_of([] { split("{train_per_class: 30, test_per_class: 0}", 29); }),
            "dataset: class 'ketch' has 29 images, but split.train_per_class: 30 needs 30: lower "
            "it, or leave the class out with dataset.exclude");
}

TEST(Split, contradictions_are_refused_with_their_place) {
  EXPECT_EQ(error_of([] { parse_split("{train_per_class: 30, test_fraction: 0.1}"); }),
            "test.yaml:1:38: dataset.split: 'test_fraction' and 'train_per_class' exclude each "
            "other");
  EXPECT_EQ(error_of([] { parse_split("{test_per_class: 10}"); }),
            "test.yaml:1:18: dataset.split: 'test_per_class' needs 'train_per_class'");
  EXPECT_EQ(error_of([] { parse_split("{train_per_class: 0}"); }),
            "test.yaml:1:19: dataset.split: 'train_per_class' must be an integer from 1 to "
            "1000000000, got 0");
  EXPECT_EQ(error_of([] { parse_split("{test_fraction: 1}"); }),
            "test.yaml:1:17: dataset.split: 'test_fraction' must be a number from 0 to 0.9, got "
            "1");
}

}  // namespace
}  // namespace stoker
