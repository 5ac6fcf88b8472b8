#include "io/storage/cached/cache_index.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace stoker {
namespace {

bool take_in(CacheIndex& index, const std::string& key, uint64_t bytes) {
  if (!index.claim(key)) return false;
  if (index.reserve(key, bytes)) {
    index.publish(key);
    return true;
  }
  index.abandon(key);
  return false;
}

TEST(CacheIndex, holds_no_more_than_its_limit) {
  CacheIndex index(100);
  EXPECT_TRUE(take_in(index, "a", 60));
  EXPECT_FALSE(take_in(index, "b", 41));
  EXPECT_FALSE(take_in(index, "c", UINT64_MAX));
  EXPECT_TRUE(take_in(index, "d", 40));
  EXPECT_EQ(index.bytes(), 100u);
  EXPECT_EQ(index.find("a"), 60u);
  EXPECT_EQ(index.find("b"), std::nullopt);
  EXPECT_TRUE(take_in(index, "empty", 0));
}

TEST(CacheIndex, what_was_there_counts_and_may_exceed_the_limit) {
  CacheIndex index(100);
  index.adopt("old", 150);
  EXPECT_EQ(index.find("old"), 150u);
  EXPECT_FALSE(take_in(index, "a", 1));
  EXPECT_EQ(index.bytes(), 150u);
}

TEST(CacheIndex, one_at_a_time_copies_a_key_and_nobody_sees_it_before) {
  CacheIndex index(100);
  EXPECT_TRUE(index.claim("a"));
  EXPECT_FALSE(index.claim("a"));
  EXPECT_TRUE(index.reserve("a", 10));
  EXPECT_EQ(index.find("a"), std::nullopt);
  EXPECT_EQ(index.bytes(), 10u);
  index.abandon("a");
  EXPECT_EQ(index.bytes(), 0u);
  EXPECT_TRUE(take_in(index, "a", 10));
  EXPECT_FALSE(index.claim("a"));
}

TEST(CacheIndex, what_is_not_ours_is_neither_read_nor_replaced_nor_removed) {
  CacheIndex index(100);
  index.avoid("foreign");
  EXPECT_EQ(index.find("foreign"), std::nullopt);
  EXPECT_FALSE(index.claim("foreign"));
  EXPECT_FALSE(index.begin_change("foreign"));
  index.end_change("foreign", false);
  EXPECT_FALSE(index.claim("foreign"));
}

TEST(CacheIndex, a_change_has_the_copy_removed_even_one_that_could_not_be_read) {
  CacheIndex index(100);
  EXPECT_TRUE(take_in(index, "a", 10));
  EXPECT_TRUE(take_in(index, "b", 10));
  index.distrust("b");
  EXPECT_EQ(index.find("b"), std::nullopt);
  EXPECT_EQ(index.bytes(), 20u);
  for (const char* key : {"a", "b"}) {
    EXPECT_TRUE(index.begin_change(key));
    EXPECT_EQ(index.find(key), std::nullopt);
    EXPECT_FALSE(index.claim(key));
    index.end_change(key, true);
    EXPECT_TRUE(take_in(index, key, 5));
  }
  EXPECT_EQ(index.bytes(), 10u);
}

TEST(CacheIndex, a_copy_whose_removal_failed_stays_unread) {
  CacheIndex index(100);
  EXPECT_TRUE(take_in(index, "a", 10));
  EXPECT_TRUE(index.begin_change("a"));
  index.end_change("a", false);
  EXPECT_EQ(index.find("a"), std::nullopt);
  EXPECT_FALSE(index.claim("a"));
  EXPECT_TRUE(index.begin_change("a"));  // the next change tries again
  index.end_change("a", true);
}

TEST(CacheIndex, a_change_waits_for_the_copy_under_way) {
  CacheIndex index(100);
  EXPECT_TRUE(index.claim("a"));
  EXPECT_TRUE(index.reserve("a", 10));
  std::atomic<bool> published = false;
  std::jthread changer([&] {
    EXPECT_TRUE(index.begin_change("a"));
    EXPECT_TRUE(published);
    index.end_change("a", true);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  published = true;
  index.publish("a");
  changer.join();
  EXPECT_EQ(index.bytes(), 0u);
}

TEST(CacheIndex, takes_nothing_in_once_closed) {
  CacheIndex index(100);
  EXPECT_TRUE(take_in(index, "a", 10));
  EXPECT_TRUE(index.claim("b"));
  EXPECT_TRUE(index.close());
  EXPECT_FALSE(index.close());
  EXPECT_FALSE(index.reserve("b", 1));
  index.abandon("b");
  EXPECT_FALSE(index.claim("c"));
  EXPECT_EQ(index.find("a"), 10u);
}

}  // namespace
}  // namespace stoker
