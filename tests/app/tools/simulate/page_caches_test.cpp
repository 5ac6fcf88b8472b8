#include <gtest/gtest.h>

#include "app/tools/simulate/machine.h"

namespace stoker {
namespace {

TEST(PageCaches, forget_what_was_used_longest_ago) {
  PageCaches caches(1, 300);
  for (const int64_t object : {1, 2, 3}) EXPECT_FALSE(caches.use(0, object, 100));
  EXPECT_TRUE(caches.use(0, 1, 100));
  EXPECT_FALSE(caches.use(0, 4, 100));  // in the place of 2
  EXPECT_TRUE(caches.use(0, 1, 100));
  EXPECT_TRUE(caches.use(0, 3, 100));
  EXPECT_FALSE(caches.use(0, 2, 100));
}

TEST(PageCaches, each_node_has_its_own) {
  PageCaches caches(2, 100);
  EXPECT_FALSE(caches.use(0, 1, 100));
  EXPECT_FALSE(caches.use(1, 1, 100));
  EXPECT_TRUE(caches.use(0, 1, 100));
}

TEST(PageCaches, what_is_larger_than_all_of_one_is_never_kept) {
  PageCaches caches(1, 100);
  EXPECT_FALSE(caches.use(0, 1, 60));
  EXPECT_FALSE(caches.use(0, 2, 101));
  EXPECT_FALSE(caches.use(0, 2, 101));
  EXPECT_TRUE(caches.use(0, 1, 60));
}

TEST(PageCaches, of_no_bytes_hold_nothing) {
  PageCaches caches(1, 0);
  EXPECT_FALSE(caches.use(0, 1, 1));
  EXPECT_FALSE(caches.use(0, 1, 1));
}

}  // namespace
}  // namespace stoker
