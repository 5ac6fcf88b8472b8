#include "app/tools/advise/object_use.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

FileIo file_io(const std::string& path, int64_t opens, int64_t reads, int64_t consecutive,
               int64_t bytes) {
  FileIo file;
  file.path = path;
  file.posix.emplace();
  file.posix->counters[PosixCounters::OPENS] = opens;
  file.posix->counters[PosixCounters::READS] = reads;
  file.posix->counters[PosixCounters::CONSEC_READS] = consecutive;
  file.posix->counters[PosixCounters::BYTES_READ] = bytes;
  return file;
}

TEST(SeenReads, are_the_files_below_the_root_that_were_read) {
  IoProfile profile;
  profile.files = {file_io("/data/a/1.jpg", 2, 4, 2, 2000), file_io("/data/2.jpg", 1, 0, 0, 0),
                   file_io("/database/3.jpg", 1, 1, 0, 9), file_io("/data/x\xff", 1, -1, 0, 0)};
  profile.files.emplace_back().path = "/data/only-stdio";
  for (const char* root : {"/data", "/data/"}) {
    const SeenReads seen = seen_reads(profile, root, 1);
    ASSERT_EQ(seen.size(), 1u) << root;
    const ReadPattern& reads = seen.at("a/1.jpg");
    EXPECT_EQ(reads.opens, 2);
    EXPECT_EQ(reads.requests, 4);
    EXPECT_EQ(reads.seeks, 2);
    EXPECT_EQ(reads.bytes_read, 2000);
  }
}

// Two readings by five pieces and an empty one each.
TEST(SeenReads, by_several_threads_are_not_consecutive_on_the_device) {
  IoProfile profile;
  profile.files = {file_io("/data/a", 2, 12, 10, 2000)};
  profile.files[0].posix->counters[PosixCounters::SIZE_READ_0_100] = 2;
  EXPECT_EQ(seen_reads(profile, "/data", 1).at("a").seeks, 2);
  EXPECT_EQ(seen_reads(profile, "/data", 4).at("a").seeks, 2 + 8 * 0.75);
}

TEST(UseSeen, replaces_all_that_was_expected_but_sizes_and_order) {
  std::vector<ObjectUse> uses(2);
  uses[0].key = "a";
  uses[0].bytes = 100;
  uses[0].first = 5;
  uses[0].requests = 9;
  uses[1].key = "b";
  uses[1].requests = 9;
  use_seen({{"a", {1, 2, 1, 100}}, {"unknown", {1, 1, 1, 1}}}, 3, uses);
  EXPECT_EQ(uses[0].requests, 6);
  EXPECT_EQ(uses[0].bytes_read, 300);
  EXPECT_EQ(uses[0].bytes, 100u);
  EXPECT_EQ(uses[0].first, 5);
  EXPECT_EQ(uses[1].requests, 0);
}

}  // namespace
}  // namespace stoker
