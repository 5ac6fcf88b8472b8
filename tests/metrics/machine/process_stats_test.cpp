#include "io/metrics/machine/process_stats.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <future>
#include <memory>
#include <thread>

#include "io/core/system/file.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Proc, split_leaves_empty_pieces_out) {
  EXPECT_THAT(proc::split("  a  bc d", ' '), ElementsAre("a", "bc", "d"));
  EXPECT_THAT(proc::split("a\n\nb\n", '\n'), ElementsAre("a", "b"));
  EXPECT_THAT(proc::split("", ' '), IsEmpty());
}

TEST(Proc, a_number_is_decimal_whole_and_fits) {
  EXPECT_EQ(proc::number("0"), 0u);
  EXPECT_EQ(proc::number("18446744073709551615"), UINT64_MAX);
  for (const char* word : {"", "-1", "+1", "1x", "x", "0x1", "1.5", "18446744073709551616"}) {
    EXPECT_EQ(proc::number(word), std::nullopt) << word;
  }
}

TEST(Proc, number_of_looks_for_the_whole_first_word) {
  const std::string text = "Cached2: 1\nSwapCached: 2\nCached:   3 kB\nCached: 4\nlast";
  EXPECT_EQ(proc::number_of(text, "Cached:"), 3u);
  EXPECT_EQ(proc::number_of(text, "Cached"), std::nullopt);
  EXPECT_EQ(proc::number_of(text, "last"), std::nullopt);
  EXPECT_EQ(proc::number_of("a b", "a"), std::nullopt);
}

TEST(Proc, what_cannot_be_read_is_absent) {
  EXPECT_EQ(proc::read("/proc/self/none"), std::nullopt);
  EXPECT_EQ(proc::read("/proc/self"), std::nullopt);  // opens, but read fails
}

TEST(ProcessStatText, fields_are_counted_from_behind_the_name) {
  const std::string fields =
      " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 20 0 7 0 10842 3000000 250 18446744073709551615 1\n";
  for (const char* name : {"(stoker)", "(a b) 1 (c)", "(((", "())"}) {
    const auto stat = parse_process_stat("42 " + std::string(name) + ")" + fields);
    ASSERT_TRUE(stat) << name;
    EXPECT_EQ(stat->threads, 7u);
    EXPECT_EQ(stat->start_ticks, 10842u);
    EXPECT_EQ(stat->virtual_bytes, 3000000u);
    EXPECT_EQ(stat->resident_pages, 250u);
  }
}

TEST(ProcessStatText, that_is_short_or_holds_no_number_is_absent) {
  for (const char* text :
       {"", "42 (stoker", "42 (stoker)", "42 (stoker) S 1 2 3",
        "42 (stoker) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 20 0 7 0 10842 3000000",
        "42 (stoker) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 20 0 x 0 10842 3000000 250"}) {
    EXPECT_FALSE(parse_process_stat(text)) << text;
  }
}

TEST(ProcessIoText, has_six_figures_or_none) {
  const std::string text =
      "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\n"
      "cancelled_write_bytes: 7\n";
  const auto io = parse_process_io(text);
  ASSERT_TRUE(io);
  EXPECT_EQ(io->rchar, 1u);
  EXPECT_EQ(io->wchar, 2u);
  EXPECT_EQ(io->syscr, 3u);
  EXPECT_EQ(io->syscw, 4u);
  EXPECT_EQ(io->read_bytes, 5u);
  EXPECT_EQ(io->write_bytes, 6u);
  for (const char* name : {"rchar", "wchar", "syscr", "syscw", "\nread_bytes", "\nwrite_bytes"}) {
    std::string damaged = text;
    damaged.insert(damaged.find(name) + 1, "?");
    EXPECT_FALSE(parse_process_io(damaged)) << damaged;
  }
}

TEST(Process, descriptors_are_counted_without_the_count_itself) {
  const auto before = read_process_stats();
  ASSERT_TRUE(before.open_fds && before.max_fds);
  const FileDescriptor one = open_file("read", "/dev/null", O_RDONLY);
  const FileDescriptor two = open_file("read", "/dev/null", O_RDONLY);
  EXPECT_EQ(read_process_stats().open_fds, *before.open_fds + 2);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(before.max_fds, limit.rlim_cur);
}

TEST(Process, threads_are_counted_while_they_live) {
  std::thread([] {}).join();  // ThreadSanitizer starts one of its own with the first
  const auto before = read_process_stats();
  ASSERT_TRUE(before.threads);
  std::promise<void> end;
  std::thread thread([&] { end.get_future().wait(); });
  EXPECT_EQ(read_process_stats().threads, *before.threads + 1);
  end.set_value();
  thread.join();
}

TEST(Process, touched_memory_is_resident_and_reserved_memory_only_virtual) {
  constexpr size_t kBytes = 64ull << 20;
  const auto before = read_process_stats();
  const std::unique_ptr<char[]> memory(new (std::nothrow) char[kBytes]);
  ASSERT_TRUE(memory && before.resident_bytes && before.virtual_bytes);
  for (size_t i = 0; i < kBytes; i += 1024) static_cast<volatile char*>(memory.get())[i] = 1;
  const auto after = read_process_stats();
  EXPECT_GE(*after.resident_bytes, *before.resident_bytes + kBytes / 2);
  EXPECT_GE(*after.virtual_bytes, *after.resident_bytes);
}

TEST(Process, cpu_time_grows_with_the_work_of_all_threads) {
  const auto before = read_process_stats();
  double in_thread = 0;
  std::thread([&] {
    timespec time{};
    while (in_thread < 0.05) {
      ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
      in_thread = static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
    }
  }).join();
  ASSERT_TRUE(before.cpu_seconds);
  EXPECT_GE(*read_process_stats().cpu_seconds, *before.cpu_seconds + in_thread);
}

TEST(Process, started_in_the_past_and_after_the_machine) {
  const auto stats = read_process_stats();
  ASSERT_TRUE(stats.start_time_s);
  const auto now = static_cast<double>(std::time(nullptr));
  EXPECT_LE(*stats.start_time_s, now + 2);
  EXPECT_GE(*stats.start_time_s, *proc::number_of(*proc::read("/proc/stat"), "btime"));
}

TEST(Process, its_calls_and_bytes_are_counted) {
  const TemporaryDirectory directory;
  const auto before = read_process_stats().io;
  ASSERT_EQ(before.has_value(), ::access("/proc/self/io", R_OK) == 0);
  if (!before) GTEST_SKIP() << "no /proc/self/io: it is of a kernel option";
  directory.write("a", std::string(100000, 'x'));
  ASSERT_EQ(directory.read("a").size(), 100000u);
  const auto after = read_process_stats().io;
  ASSERT_TRUE(after);
  EXPECT_GE(after->wchar, before->wchar + 100000);
  EXPECT_GE(after->rchar, before->rchar + 100000);
  EXPECT_GT(after->syscr, before->syscr);
  EXPECT_GT(after->syscw, before->syscw);
}

TEST(Process, what_the_device_delivered_is_counted_for_the_process_and_the_thread) {
  constexpr size_t kBytes = 1 << 20;
  const TemporaryDirectory directory;
  directory.write("a", std::string(kBytes, 'x'));
  struct stat status {};
  ASSERT_EQ(::stat((directory / "a").c_str(), &status), 0);
  const FileDescriptor direct(::open((directory / "a").c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
  const FileDescriptor buffered = open_file("read", directory / "a", O_RDONLY);
  const FileDescriptor& file = direct ? direct : buffered;
  const auto before = thread_read_bytes(::gettid());
  const auto process_before = read_process_stats().io;
  ASSERT_EQ(before.has_value(), ::access("/proc/self/io", R_OK) == 0);
  ASSERT_EQ(process_before.has_value(), before.has_value());
  if (!before) GTEST_SKIP() << "no /proc/self/io: it is of a kernel option";
  ASSERT_EQ(::fsync(file.get()), 0);
  const std::unique_ptr<void, decltype(&std::free)> memory(std::aligned_alloc(4096, kBytes),
                                                           std::free);
  ASSERT_EQ(::read(file.get(), memory.get(), kBytes), static_cast<ssize_t>(kBytes));
  const uint64_t delivered = *thread_read_bytes(::gettid()) - *before;
  if (direct && major(status.st_dev) != 0) {
    EXPECT_EQ(delivered, kBytes);
  } else {
    EXPECT_LE(delivered, kBytes);  // what lies in memory, or under an overlay
  }
  EXPECT_EQ(read_process_stats().io->read_bytes - process_before->read_bytes, delivered);
}

TEST(Process, a_thread_that_is_not_there_is_absent) {
  EXPECT_EQ(thread_read_bytes(0), std::nullopt);
  EXPECT_EQ(thread_read_bytes(INT32_MAX), std::nullopt);
}

}  // namespace
}  // namespace stoker
