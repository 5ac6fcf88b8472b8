#include <gtest/gtest.h>

#include <thread>

#include "io/core/error.h"
#include "io/dataset/shards/tier_reads.h"
#include "tests/support/storages.h"

namespace stoker {
namespace {

using Reads = std::map<std::string, int>;

struct WholeFilesTest : testing::Test {
  WholeFilesTest() {
    for (const char* key : {"a", "b", "c"}) put(tier, key, std::string("bytes of ") + key);
  }
  static std::string text(const Buffer& buffer) {
    return {buffer.bytes().begin(), buffer.bytes().end()};
  }
  CountingStorage tier{make_storage("{type: memory}")};
};

TEST_F(WholeFilesTest, those_asked_for_last_are_read_once) {
  WholeFiles files(tier, 2);
  for (const char* key : {"a", "a", "b", "a", "b"}) {
    EXPECT_EQ(text(*files.get(key)), std::string("bytes of ") + key);
  }
  EXPECT_EQ(tier.reads(), (Reads{{"a", 1}, {"b", 1}}));
  for (const char* key : {"a", "c", "a", "b"}) files.get(key);  // b had to go for c, and c for b
  EXPECT_EQ(tier.reads(), (Reads{{"b", 1}, {"c", 1}}));
}

TEST_F(WholeFilesTest, one_that_is_held_outlives_those_that_are_kept) {
  WholeFiles files(tier, 1);
  const auto held = files.get("a");
  files.get("b");
  files.get("c");
  EXPECT_EQ(text(*held), "bytes of a");
}

TEST_F(WholeFilesTest, many_threads_at_once_read_it_once) {
  WholeFiles files(tier, 1);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(text(*files.get("a")), "bytes of a"); });
  }
  threads.clear();
  EXPECT_EQ(tier.reads(), (Reads{{"a", 1}}));
}

TEST_F(WholeFilesTest, a_failure_is_the_tiers_and_is_not_kept) {
  WholeFiles files(tier, 1);
  EXPECT_THROW(files.get("d"), IoError);
  put(tier, "d", "late");
  EXPECT_EQ(text(*files.get("d")), "late");
}

}  // namespace
}  // namespace stoker
