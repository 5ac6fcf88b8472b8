#include <gmock/gmock.h>

#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "io/profiler/counters/record_name.h"
#include "io/profiler/recorder_state.h"
#include "io/profiler/records/descriptor_table.h"
#include "io/profiler/records/mount_table.h"
#include "io/profiler/records/record_table.h"
#include "io/profiler/records/stream_table.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string numbered(size_t i) { return "/data/" + std::to_string(i); }

TEST(RecordTable, finds_each_record_again_while_it_grows) {
  Arena arena(64 << 20);
  RecordTable table(arena);
  std::vector<FileRecord*> records;
  for (size_t i = 0; i < 5000; ++i) {
    const std::string name = numbered(i);
    records.push_back(table.find_or_make(record_id(name), name, 512));
    ASSERT_EQ(records[i]->name, name);
  }
  for (size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(table.find(record_id(numbered(i))), records[i]);
  }
  EXPECT_EQ(table.find(record_id("/other")), nullptr);
}

TEST(RecordTable, one_name_has_one_record_whoever_is_first) {
  Arena arena(64 << 20);
  RecordTable table(arena);
  std::vector<std::vector<FileRecord*>> made(4);
  std::vector<std::thread> threads;
  for (auto& own : made) {
    threads.emplace_back([&] {
      for (size_t i = 0; i < 3000; ++i) {
        own.push_back(table.find_or_make(record_id(numbered(i)), numbered(i), 0));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  size_t records = 0;
  for (const FileRecord* r = table.newest(); r != nullptr; r = r->next_made) ++records;
  EXPECT_EQ(records, 3000u);
  for (const auto& own : made) EXPECT_EQ(own, made[0]);
}

TEST(RecordTable, without_memory_there_is_no_record) {
  Arena arena(16 << 10);
  RecordTable table(arena);
  FileRecord* made = nullptr;
  size_t records = 0;
  while ((made = table.find_or_make(records, numbered(records), 0)) != nullptr) ++records;
  EXPECT_GT(records, 5u);
  EXPECT_LT(records, 100u);
  EXPECT_NE(table.find(0), nullptr);
}

TEST(DescriptorTable, a_close_that_is_told_late_leaves_the_next_owner) {
  Arena arena(1 << 20);
  DescriptorTable table(arena);
  FileRecord first, second;
  ASSERT_TRUE(table.set(7, &first, 100));
  ASSERT_TRUE(table.set(7, &second, 300));  // another thread's open, told first
  EXPECT_EQ(table.close(7, 200), nullptr);
  EXPECT_EQ(table.find(7), &second);
  EXPECT_EQ(table.close(7, 400), &second);
  EXPECT_EQ(table.find(7), nullptr);
}

TEST(DescriptorTable, numbers_beyond_its_end_are_of_no_file) {
  Arena arena(1 << 20);
  DescriptorTable table(arena);
  FileRecord file;
  EXPECT_FALSE(table.set(static_cast<int>(DescriptorTable::kMost), &file, 0));
  EXPECT_FALSE(table.set(-1, &file, 0));
  EXPECT_EQ(table.find(-1), nullptr);
  EXPECT_EQ(table.find(1 << 20), nullptr);
  EXPECT_TRUE(table.set(1 << 20, nullptr, 0));  // nothing to forget
  EXPECT_EQ(table.end(), 0u);
}

TEST(DescriptorTable, what_is_known_is_not_named_again) {
  Arena arena(1 << 20);
  DescriptorTable table(arena);
  FileRecord first, second;
  table.set_if_unknown(5000, &first);
  table.set_if_unknown(5000, &second);
  EXPECT_EQ(table.find(5000), &first);
  EXPECT_GT(table.end(), 5000u);
  table.clear();
  EXPECT_EQ(table.find(5000), nullptr);
}

TEST(DescriptorTable, without_memory_nothing_is_known) {
  Arena arena(100);
  DescriptorTable table(arena);
  FileRecord file;
  EXPECT_FALSE(table.set(1, &file, 0));
  table.set_if_unknown(1, &file);
  EXPECT_EQ(table.find(1), nullptr);
}

const FILE* stream_at(uintptr_t address) { return reinterpret_cast<const FILE*>(address); }

TEST(StreamTable, a_stream_is_of_a_file_until_it_is_closed) {
  Arena arena(1 << 20);
  StreamTable table(arena);
  FileRecord file;
  for (uintptr_t i = 1; i <= 1000; ++i) ASSERT_TRUE(table.set(stream_at(i * 16), &file, 3, 10));
  EXPECT_EQ(table.find(stream_at(16)), &file);
  const auto closed = table.close(stream_at(16), 20);
  EXPECT_EQ(closed.file, &file);
  EXPECT_EQ(closed.fd, 3);
  EXPECT_EQ(table.find(stream_at(16)), nullptr);
  EXPECT_EQ(table.close(stream_at(16), 20).file, nullptr);
  table.clear();
  EXPECT_EQ(table.find(stream_at(32)), nullptr);
}

TEST(StreamTable, a_close_that_is_told_late_leaves_the_next_stream_in_its_memory) {
  Arena arena(1 << 20);
  StreamTable table(arena);
  FileRecord first, second;
  table.set(stream_at(64), &first, 3, 100);
  table.set(stream_at(64), &second, 4, 300);
  EXPECT_EQ(table.close(stream_at(64), 200).file, nullptr);
  EXPECT_EQ(table.find(stream_at(64)), &second);
}

TEST(StreamTable, closed_streams_leave_room_for_new_ones) {
  Arena arena(4 << 10);
  StreamTable table(arena);
  FileRecord file;
  for (int64_t i = 1; i < 10'000; ++i) {
    const FILE* const stream = stream_at(static_cast<uintptr_t>(i) * 552);
    ASSERT_TRUE(table.set(stream, &file, 3, i)) << i;
    table.close(stream, i);
  }
}

TEST(PathFilter, what_is_included_wins) {
  const PathFilter filter{{"/dev/", "/var/"}, {"/dev/shm/"}};
  EXPECT_TRUE(filter.sees("/data/a"));
  EXPECT_TRUE(filter.sees("/dev/shm/a"));
  EXPECT_TRUE(filter.sees("/device"));
  EXPECT_FALSE(filter.sees("/dev/null"));
  EXPECT_FALSE(filter.sees("/var/log/x"));
}

TEST(PathFilter, reserved_names_are_seen_and_the_kernels_are_not) {
  EXPECT_TRUE(PathFilter{}.sees("<STDOUT>"));
  EXPECT_FALSE(PathFilter{}.sees("pipe:[4711]"));
  EXPECT_FALSE(PathFilter{}.sees("anon_inode:[eventfd]"));
  EXPECT_FALSE(PathFilter{}.sees(""));
}

TEST(MountTable, knows_the_block_size_of_each_path_but_of_no_others) {
  const MountTable mounts;
  EXPECT_THAT(mounts.list(), Contains(testing::Field(&IoProfile::Mount::path, "/")));
  EXPECT_GE(mounts.block_bytes("/tmp/x"), 512);
  EXPECT_EQ(mounts.block_bytes("<STDIN>"), -1);
}

// After chroot() into a folder that is no mount point, or where /proc is not mounted.
TEST(MountTable, knows_the_root_where_the_kernel_does_not_list_it) {
  const TemporaryDirectory directory;
  directory.write("mounts", "proc /proc proc rw 0 0\n");
  for (const std::string& table : {directory / "mounts", directory / "not_there"}) {
    const MountTable mounts(table.c_str());
    EXPECT_THAT(mounts.list(), ElementsAre(testing::Field(&IoProfile::Mount::path, "/")));
    EXPECT_GE(mounts.block_bytes("/tmp/x"), 512);
    EXPECT_EQ(mounts.block_bytes("<STDIN>"), -1);
  }
}

// As Darshan, which leaves such file systems out.
TEST(MountTable, has_no_root_that_is_a_file_system_in_memory) {
  const TemporaryDirectory directory;
  directory.write("mounts", "tmpfs / tmpfs rw 0 0\n");
  const MountTable mounts((directory / "mounts").c_str());
  EXPECT_THAT(mounts.list(), IsEmpty());
  EXPECT_EQ(mounts.block_bytes("/tmp/x"), -1);
}

}  // namespace
}  // namespace stoker
