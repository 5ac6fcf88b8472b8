#include "io/storage/cached/staging.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "io/storage/cached/plan_file.h"
#include "tests/support/errors.h"
#include "tests/support/storages.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

// "b a": the keys of a plan.
std::string keys(const StagingPlan& plan) {
  std::string text;
  for (const ObjectInfo& object : plan.objects) text += (text.empty() ? "" : " ") + object.key;
  return text;
}

StagingRule rule(uint64_t limit, StagingOrder order = StagingOrder::listing) {
  StagingRule result;
  result.limit.bytes = limit;
  result.order = order;
  return result;
}

const std::vector<ObjectInfo> kObjects = {{"a", 500}, {"b", 100},    {"c", 300},
                                          {"d", 100}, {"empty/", 0}, {"z", 0}};

TEST(Choose, takes_in_the_order_of_the_listing_what_fits) {
  EXPECT_EQ(keys(choose(kObjects, rule(1000), 0)), "a b c d z");
  EXPECT_EQ(keys(choose(kObjects, rule(999), 0)), "a b c z");
  EXPECT_EQ(keys(choose(kObjects, rule(499), 0)), "b c z");
  EXPECT_EQ(choose(kObjects, rule(499), 0).bytes, 400u);
}

TEST(Choose, counts_what_is_there_already) {
  EXPECT_EQ(keys(choose(kObjects, rule(1000), 700)), "b d z");
  EXPECT_EQ(keys(choose(kObjects, rule(1000), 5000)), "z");
}

TEST(Choose, takes_the_smallest_first_and_ties_in_the_order_of_the_listing) {
  EXPECT_EQ(keys(choose(kObjects, rule(1000, StagingOrder::smallest), 0)), "z b d c a");
  EXPECT_EQ(keys(choose(kObjects, rule(520, StagingOrder::smallest), 0)), "z b d c");
}

TEST(Choose, takes_what_was_read_most_first) {
  const ReadCounts reads{{"c", 3}, {"d", 9}, {"unknown", 100}};
  EXPECT_EQ(keys(choose(kObjects, rule(1000, StagingOrder::most_read), 0, reads)), "d c a b z");
  EXPECT_EQ(keys(choose(kObjects, rule(1000, StagingOrder::most_read), 0)), "a b c d z");
}

TEST(Choose, leaves_out_what_is_not_below_the_threshold) {
  StagingRule small = rule(10'000);
  small.below = ByteSize{300};
  EXPECT_EQ(keys(choose(kObjects, small, 0)), "b d z");
}

TEST(Candidates, are_the_listing_or_what_a_plan_names_in_its_order) {
  const TemporaryDirectory directory;
  directory.write("plan.json", plan_json({{kObjects[3], kObjects[1]}, 200}, {}));
  EXPECT_EQ(candidates(kObjects, rule(1)).size(), kObjects.size());
  StagingRule planned = rule(10'000, StagingOrder::plan);
  planned.plan = Path{directory / "plan.json"};
  EXPECT_EQ(keys(choose(candidates(kObjects, planned), planned, 0)), "d b");
  planned.limit.bytes = 1;
  EXPECT_NE(error_of([&] { candidates(kObjects, planned); }).find("limit is 1: raise it"),
            std::string::npos);
  EXPECT_NE(error_of([&] { candidates({}, planned); }).find("the tier has no object 'd'"),
            std::string::npos);
}

TEST(StagingRule, a_plan_is_the_only_rule_and_needs_its_order) {
  const auto refused = [](const std::string& options) {
    return error_of(
        [&] { make_storage("{type: cached, inner: {type: memory}, " + options + "}"); });
  };
  EXPECT_NE(refused("order: plan").find("needs the file"), std::string::npos);
  EXPECT_NE(refused("plan: a.json").find("is for order: plan"), std::string::npos);
  EXPECT_NE(refused("order: plan, plan: a.json, below: 2m").find("must not be there"),
            std::string::npos);
  EXPECT_NE(refused("order: plan, plan: /nowhere/a.json").find("there is no such plan"),
            std::string::npos);
}

TEST(Recognise, takes_equal_key_and_size_for_a_copy_and_nothing_else) {
  const auto from = make_storage("{type: memory}");
  const auto to = make_storage("{type: memory}");
  for (const char* key : {"a", "b", "c"}) put(*from, key, "12345");
  put(*to, "a", "12345");
  put(*to, "b", "123");
  put(*to, "other", "12345");
  const StagedBefore before = recognise(*from, *to);
  ASSERT_EQ(before.copies.size(), 1u);
  EXPECT_EQ(before.copies[0].key, "a");
  EXPECT_EQ(before.strange, (std::vector<std::string>{"b", "other"}));
}

TEST(CopyObject, copies_objects_of_every_size_in_pieces) {
  const auto from = make_storage("{type: memory}");
  const auto to = make_storage("{type: memory}");
  constexpr size_t kPiece = 8 << 20;
  for (const size_t size : {size_t{0}, size_t{1}, kPiece - 1, kPiece, kPiece + 1, 2 * kPiece}) {
    std::string text(size, 'x');
    for (size_t i = 0; i < size; i += 1000) text[i] = static_cast<char>('a' + i / 1000 % 26);
    put(*from, "k", text);
    EXPECT_EQ(copy_object(*from, *to, {"k", size}, [] { return false; }), Copied::yes);
    EXPECT_TRUE(get(*to, "k") == text) << size;
  }
}

TEST(CopyObject, leaves_nothing_of_what_was_stopped_or_could_not_be_read) {
  const auto from = make_storage("{type: memory}");
  const auto to = make_storage("{type: memory}");
  put(*from, "large", std::string(20 << 20, 'x'));
  int asked = 0;
  EXPECT_EQ(copy_object(*from, *to, {"large", 20 << 20}, [&] { return ++asked == 3; }),
            Copied::stopped);
  EXPECT_EQ(copy_object(*from, *to, {"large", 19 << 20}, [] { return false; }), Copied::unreadable);
  EXPECT_EQ(copy_object(*from, *to, {"large", 21 << 20}, [] { return false; }), Copied::unreadable);
  EXPECT_EQ(copy_object(*from, *to, {"none", 5}, [] { return false; }), Copied::unreadable);
  EXPECT_EQ(listing(*to), "");
}

}  // namespace
}  // namespace stoker
