#include "io/profiler/profile.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace stoker {
namespace {

using P = PosixCounters;
using S = StdioCounters;

// Sizes of the records of Darshan's log: 704 and 248 bytes, with an id and a rank.
TEST(ProfileNames, are_as_many_as_darshans_modules_have) {
  EXPECT_EQ(posix_counter_names().size(), 69u);
  EXPECT_EQ(posix_time_names().size(), 17u);
  EXPECT_EQ(stdio_counter_names().size(), 14u);
  EXPECT_EQ(stdio_time_names().size(), 15u);
  EXPECT_EQ(sizeof(P), 704u - 16);
  EXPECT_EQ(sizeof(S), 248u - 16);
}

TEST(ProfileNames, stand_where_the_enums_have_them) {
  EXPECT_STREQ(posix_counter_names()[P::OPENS], "POSIX_OPENS");
  EXPECT_STREQ(posix_counter_names()[P::RENAMED_FROM], "POSIX_RENAMED_FROM");
  EXPECT_STREQ(posix_counter_names()[P::FILE_ALIGNMENT], "POSIX_FILE_ALIGNMENT");
  EXPECT_STREQ(posix_counter_names()[P::SIZE_READ_0_100], "POSIX_SIZE_READ_0_100");
  EXPECT_STREQ(posix_counter_names()[P::SIZE_WRITE_0_100 + 9], "POSIX_SIZE_WRITE_1G_PLUS");
  EXPECT_STREQ(posix_counter_names()[P::STRIDE1_STRIDE + 3], "POSIX_STRIDE4_STRIDE");
  EXPECT_STREQ(posix_counter_names()[P::STRIDE1_COUNT], "POSIX_STRIDE1_COUNT");
  EXPECT_STREQ(posix_counter_names()[P::ACCESS1_ACCESS], "POSIX_ACCESS1_ACCESS");
  EXPECT_STREQ(posix_counter_names()[P::ACCESS1_COUNT + 3], "POSIX_ACCESS4_COUNT");
  EXPECT_STREQ(posix_counter_names()[P::SLOWEST_RANK_BYTES], "POSIX_SLOWEST_RANK_BYTES");
  EXPECT_STREQ(posix_time_names()[P::CLOSE_START], "POSIX_F_CLOSE_START_TIMESTAMP");
  EXPECT_STREQ(posix_time_names()[P::META_TIME], "POSIX_F_META_TIME");
  EXPECT_STREQ(posix_time_names()[P::VARIANCE_RANK_BYTES], "POSIX_F_VARIANCE_RANK_BYTES");
  EXPECT_STREQ(stdio_counter_names()[S::MAX_BYTE_READ], "STDIO_MAX_BYTE_READ");
  EXPECT_STREQ(stdio_counter_names()[S::SLOWEST_RANK_BYTES], "STDIO_SLOWEST_RANK_BYTES");
  EXPECT_STREQ(stdio_time_names()[S::READ_TIME], "STDIO_F_READ_TIME");
  EXPECT_STREQ(stdio_time_names()[S::READ_END], "STDIO_F_READ_END_TIMESTAMP");
}

TEST(ProfileNames, are_all_different) {
  std::set<std::string> names;
  size_t all = 0;
  for (const auto& list :
       {posix_counter_names(), posix_time_names(), stdio_counter_names(), stdio_time_names()}) {
    names.insert(list.begin(), list.end());
    all += list.size();
  }
  EXPECT_EQ(names.size(), all);
}

}  // namespace
}  // namespace stoker
