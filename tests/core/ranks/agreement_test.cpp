#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "io/core/ranks/rank_group.h"
#include "tests/support/ranks.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

// What each of these ranks hears.
std::vector<std::string> compared(const std::vector<Facts>& facts) {
  const TemporaryDirectory folder;
  const auto world = std::ssize(facts);
  return in_threads(world, [&](int64_t rank) {
    const auto group = group_in(folder.path(), rank, world);
    return disagreement(*group, facts[static_cast<size_t>(rank)]);
  });
}

std::vector<std::string> by_all(size_t ranks, const std::string& text) {
  return std::vector<std::string>(ranks, text);
}

TEST(Agreement, of_equal_facts_says_nothing) {
  const Facts facts{{"lr", "0.1"}, {"seed", "1"}};
  EXPECT_EQ(compared({facts, facts, facts}), by_all(3, ""));
  EXPECT_EQ(compared({{}, {}}), by_all(2, ""));
  EXPECT_EQ(disagreement(alone(), facts), "");
}

TEST(Agreement, names_each_difference_with_its_values_and_ranks) {
  EXPECT_EQ(compared({{{"seed", "1"}, {"lr", "0.1"}}, {{"seed", "1"}, {"lr", "0.5"}}}),
            by_all(2, "lr: 0.1 on rank 0, but 0.5 on rank 1"));
  EXPECT_EQ(
      compared({{{"b", "1"}, {"a", "x"}}, {{"b", "2"}, {"a", "x"}}, {{"b", "1"}}}),
      by_all(3, "b: 1 on ranks 0, 2, but 2 on rank 1; a: x on ranks 0, 1, but absent on rank 2"));
  EXPECT_EQ(compared({{}, {{"only here", "y"}}}),
            by_all(2, "only here: absent on rank 0, but y on rank 1"));
}

TEST(Agreement, counts_what_would_be_too_much_to_read) {
  Facts one, other;
  for (int i = 0; i < 12; ++i) {
    one.emplace_back("key " + std::to_string(i), "a");
    other.emplace_back("key " + std::to_string(i), "b");
  }
  const std::string text = compared({one, other}).front();
  EXPECT_TRUE(text.starts_with("key 0: a on rank 0, but b on rank 1; key 1: ")) << text;
  EXPECT_TRUE(text.ends_with("; key 7: a on rank 0, but b on rank 1; and 4 more")) << text;
  std::vector<Facts> ranks(12, Facts{{"lr", "0.1"}});
  ranks[3] = {{"lr", "0.2"}};
  EXPECT_EQ(compared(ranks).front(),
            "lr: 0.1 on ranks 0, 1, 2, 4, 5, 6, 7, 8 and 3 more, but 0.2 on rank 3");
}

}  // namespace
}  // namespace stoker
