#include "io/profiler/log/darshan_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "tests/profiler/log/profiles.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

void expect_same(const std::vector<IoSegment>& a, const std::vector<IoSegment>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].offset, b[i].offset);
    EXPECT_EQ(a[i].bytes, b[i].bytes);
    EXPECT_EQ(a[i].begin_s, b[i].begin_s);
    EXPECT_EQ(a[i].end_s, b[i].end_s);
  }
}

void expect_same(const FileIo& a, const FileIo& b) {
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.rank, b.rank);
  EXPECT_EQ(a.path, b.path);
  ASSERT_EQ(a.posix.has_value(), b.posix.has_value());
  ASSERT_EQ(a.stdio.has_value(), b.stdio.has_value());
  if (a.posix) {
    EXPECT_EQ(a.posix->counters, b.posix->counters);
    EXPECT_EQ(a.posix->times, b.posix->times);
  }
  if (a.stdio) {
    EXPECT_EQ(a.stdio->counters, b.stdio->counters);
    EXPECT_EQ(a.stdio->times, b.stdio->times);
  }
  expect_same(a.reads, b.reads);
  expect_same(a.writes, b.writes);
}

TEST(DarshanLogTest, a_profile_that_is_written_is_read_as_the_same) {
  const IoProfile profile = small_profile();
  const DarshanLog log = parsed(darshan_log(profile));
  EXPECT_EQ(log.version, "3.41");
  EXPECT_EQ(log.profile.begin_ns, profile.begin_ns);
  EXPECT_EQ(log.profile.end_ns, profile.end_ns);
  EXPECT_EQ(log.profile.uid, 1000);
  EXPECT_EQ(log.profile.job_id, 4711);
  EXPECT_EQ(log.profile.ranks, 1);
  EXPECT_EQ(log.profile.host, "node7");
  EXPECT_EQ(log.profile.command, profile.command);
  EXPECT_EQ(log.profile.steps, profile.steps);
  EXPECT_EQ(log.profile.emulated, profile.emulated);
  ASSERT_EQ(log.profile.mounts.size(), 2U);
  EXPECT_EQ(log.profile.mounts[1].type, "lustre");
  EXPECT_EQ(log.profile.mounts[1].path, "/scratch");
  ASSERT_EQ(log.profile.files.size(), 3U);
  for (const FileIo& file : profile.files) {
    const auto same = std::ranges::find(log.profile.files, file.id, &FileIo::id);
    ASSERT_NE(same, log.profile.files.end());
    expect_same(file, *same);
  }
}

TEST(DarshanLogTest, what_was_dropped_and_what_the_kernel_counted_is_kept) {
  const IoProfile profile = parsed(darshan_log(small_profile())).profile;
  EXPECT_EQ(profile.dropped.files, 12);
  EXPECT_EQ(profile.dropped.segments, 34);
  EXPECT_TRUE(profile.dropped.posix);
  EXPECT_FALSE(profile.dropped.stdio);
  EXPECT_TRUE(profile.dropped.segments_partial);
  ASSERT_TRUE(profile.kernel);
  EXPECT_EQ(profile.kernel->bytes_written, 2000);
  EXPECT_EQ(profile.kernel->elsewhere_read, 30);
}

TEST(DarshanLogTest, of_streams_it_has_the_sizes_of_requests_and_a_heat_map) {
  IoProfile profile = small_profile();
  const IoProfile read = parsed(darshan_log(profile)).profile;
  EXPECT_EQ(read.stream_sizes, profile.stream_sizes);
  ASSERT_EQ(read.stdio_heat.size(), 1U);
  const HeatMap& map = read.stdio_heat.at(0);
  EXPECT_EQ(map.bin_s, 0.1);
  EXPECT_EQ(map.written.size(), 29U);  // 2.88 s
  EXPECT_EQ(std::accumulate(map.written.begin(), map.written.end(), int64_t{0}), 700);
  EXPECT_EQ(map.written[5], 140);
  ASSERT_EQ(read.posix_heat.size(), 1U);
  profile.files[1].stream_writes.clear();
  EXPECT_TRUE(parsed(darshan_log(profile)).profile.stdio_heat.empty());
}

TEST(DarshanLogTest, it_says_for_how_long_something_was_under_way) {
  IoProfile profile;
  profile.end_ns = 4'000'000'000;
  profile.files = {file_of(1, "/out/log")};
  profile.files[0].stdio.emplace().counters[StdioCounters::WRITES] = 2;
  profile.files[0].stream_writes = {{0, 10, 0.5, 1.5}, {10, 10, 1, 2.25}};
  const IoProfile read = parsed(darshan_log(profile)).profile;
  EXPECT_EQ(read.under_way.writing_s, 1.75);
  EXPECT_EQ(read.under_way.reading_s, 0);
  EXPECT_EQ(parsed(darshan_log(read)).profile.under_way.writing_s, 1.75);
}

TEST(DarshanLogTest, modules_are_named_with_their_versions) {
  const DarshanLog log = parsed(darshan_log(small_profile()));
  std::string text;
  for (const DarshanLog::Module& module : log.modules) {
    text += module.name + " " + std::to_string(module.version) +
            (module.partial ? " partial" : "") + (module.read ? "\n" : " left out\n");
  }
  EXPECT_EQ(text, "POSIX 4 partial\nSTDIO 2\nDXT_POSIX 1 partial\nHEATMAP 1 partial\n");
}

TEST(DarshanLogTest, a_session_that_saw_nothing_is_a_log) {
  const DarshanLog log = parsed(darshan_log(IoProfile()));
  EXPECT_TRUE(log.profile.files.empty());
  EXPECT_TRUE(log.modules.empty());
}

TEST(DarshanLogTest, without_a_mount_there_is_one_so_that_the_command_is_read) {
  IoProfile profile = small_profile();
  profile.mounts = {{"ext4", "/with a space"}, {"", "/nothing"}};
  const DarshanLog log = parsed(darshan_log(profile));
  ASSERT_EQ(log.profile.mounts.size(), 1U);
  EXPECT_EQ(log.profile.mounts[0].type, "unknown");
}

TEST(DarshanLogTest, a_command_is_one_line_of_text_that_leaves_room_for_a_mount) {
  IoProfile profile = small_profile();
  profile.mounts.clear();
  profile.command = "two\nlines " + std::string(3000, 'o');
  for (int i = 0; i < 100; ++i) profile.command += "\xC3\xA4";  // a letter of two bytes
  const DarshanLog log = parsed(darshan_log(profile));
  EXPECT_TRUE(log.profile.command.starts_with("two lines ooo"));
  EXPECT_TRUE(log.profile.command.ends_with("o") || log.profile.command.ends_with("\xC3\xA4"));
  EXPECT_EQ(log.profile.mounts.size(), 1U);
}

TEST(DarshanLogTest, names_that_are_no_text_become_text) {
  IoProfile profile;
  profile.files = {file_of(1, "/data/\xFF.jpg")};
  profile.files[0].posix.emplace();
  EXPECT_EQ(parsed(darshan_log(profile)).profile.files.at(0).path, "/data/\\xff.jpg");
}

TEST(DarshanLogTest, records_of_one_file_by_several_ranks_stay_apart) {
  IoProfile profile;
  profile.ranks = 2;
  profile.files = {file_of(1, "/data/a"), file_of(1, "/data/a"), file_of(1, "/data/a")};
  for (int64_t i = 0; i < 3; ++i) {
    profile.files[static_cast<size_t>(i)].rank = i - 1;
    profile.files[static_cast<size_t>(i)].posix.emplace().counters[PosixCounters::READS] = i;
  }
  const DarshanLog log = parsed(darshan_log(profile));
  EXPECT_EQ(log.profile.ranks, 2);
  ASSERT_EQ(log.profile.files.size(), 3U);
  for (size_t i = 0; i < 3; ++i) expect_same(profile.files[i], log.profile.files[i]);
}

TEST(DarshanLogTest, many_files_with_many_segments_take_little_room) {
  IoProfile profile;
  for (uint64_t i = 0; i < 20'000; ++i) {
    profile.files.push_back(
        file_of(i * 0x9E3779B97F4A7C15U, "/data/" + std::to_string(i) + ".jpg"));
    FileIo& file = profile.files.back();
    file.posix.emplace().counters[PosixCounters::READS] = 2;
    const double at = 0.001 * static_cast<double>(i);
    file.reads = {{0, 12'000, at, at + 0.0005}, {12'000, 0, at + 0.0006, at + 0.0007}};
  }
  const std::string log = darshan_log(profile);
  EXPECT_LT(log.size(), 4'000'000U);
  const DarshanLog read = parsed(log);
  ASSERT_EQ(read.profile.files.size(), 20'000U);
  expect_same(profile.files.back(), read.profile.files.back());
}

TEST(DarshanLogTest, a_log_is_a_whole_file_or_none) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/io_profile.darshan";
  write_darshan_log(small_profile(), path);
  EXPECT_EQ(read_darshan_log(path).profile.files.size(), 3U);
  const std::string missing = directory.path() + "/none.darshan";
  EXPECT_EQ(error_of([&] { read_darshan_log(missing); }), missing + ": there is no such file");
}

}  // namespace
}  // namespace stoker
