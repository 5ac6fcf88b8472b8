#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/tools/run_program/watch/blocked_reader.h"
#include "app/tools/run_program/watch/machine_watch.h"
#include "app/tools/run_program/watch/samples.h"
#include "app/tools/run_program/watch/system_calls.h"
#include "app/tools/run_program/watch/task_files.h"
#include "app/tools/run_program/watch/thread_meter.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

TEST(TaskFiles, a_name_may_have_blanks_and_brackets) {
  const auto stat = parse_task_stat(
      "42 (a) b (c)) D 7 1 1 0 -1 4 10 11 12 13 14 15 16 17 20 0 1 0 500 1 2 3\n", 100);
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->name, "a) b (c)");
  EXPECT_EQ(stat->state, 'D');
  EXPECT_EQ(stat->parent, 7);
  EXPECT_EQ(stat->major_faults, 12);
  EXPECT_EQ(stat->start_s, 5);
  EXPECT_FALSE(parse_task_stat("42 (a", 100));
  EXPECT_FALSE(parse_task_stat("42 (a) S 1", 100));
}

TEST(TaskFiles, what_is_no_number_is_absent) {
  EXPECT_EQ(parse_schedule("5 6 7\n"), (TaskSchedule{.ran_ns = 5, .waited_ns = 6, .turns = 7}));
  EXPECT_FALSE(parse_schedule("5 6\n"));
  EXPECT_FALSE(parse_schedule(""));
  EXPECT_FALSE(parse_call("running\n"));
  EXPECT_EQ(parse_call("-1 0x7ffe 0x7fff\n")->number, -1);
  const auto call = parse_call("0 0x3 0x10 0x20 0x0 0x0 0x0 0x7ffe 0x7f31\n");
  ASSERT_TRUE(call);
  EXPECT_EQ(call->number, 0);
  EXPECT_EQ(call->arguments[0], 3u);
  EXPECT_EQ(call->arguments[2], 32u);
  EXPECT_EQ(parse_numbers("1 23 x 4 \n"), (std::vector<pid_t>{1, 23, 4}));
  EXPECT_EQ(parse_command(std::string("a\0b c\0", 6)), (std::vector<std::string>{"a", "b c"}));
}

TEST(TaskFiles, of_mounts_the_innermost_and_last_one_counts) {
  const std::string text =
      "21 1 254:0 / / rw - ext4 /dev/vda rw\n"
      "22 21 0:40 / /data rw shared:1 - fuse.stoker emulated:slow rw\n"
      "23 21 0:41 / /data rw - tmpfs none rw\n";
  EXPECT_EQ(mount_of(text, "/data/x"), "tmpfs none at /data");
  EXPECT_EQ(mount_of(text, "/database/x"), "ext4 /dev/vda at /");
  EXPECT_EQ(mount_of("", "/x"), "");
}

TEST(BlockedReader, links_and_places_in_the_kernel_say_what_is_waited_for) {
  EXPECT_EQ(doing_by_link("pipe:[7]"), Doing::on_pipe);
  EXPECT_EQ(doing_by_link("/data/a.jpg"), Doing::in_file);
  EXPECT_EQ(doing_by_link("/dev/shm/a"), Doing::in_file);
  EXPECT_EQ(doing_by_link("/dev/nvidia0"), Doing::on_gpu);
  EXPECT_EQ(doing_by_link("/dev/null"), Doing::other);
  EXPECT_EQ(doing_by_place('D', "folio_wait_bit_common"), Doing::in_file);
  EXPECT_EQ(doing_by_place('D', "rwsem_down_read_slowpath"), Doing::other);
  EXPECT_EQ(doing_by_place('S', "futex_wait_queue"), Doing::on_lock);
  EXPECT_EQ(doing_by_place('S', "request_wait_answer"), Doing::in_file);
}

TEST(BlockedReader, the_other_end_of_a_socket_is_found_by_its_inode) {
  const std::string table =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt uid timeout "
      "inode\n"
      "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 71 1\n"
      "   1: 0100007F:1F90 0200A8C0:C350 01 00000000:00000000 00:00000000 00000000 0 0 72 1\n";
  EXPECT_EQ(other_end(table, "72"), "192.168.0.2:50000");
  EXPECT_EQ(other_end(table, "71"), "");
  EXPECT_EQ(other_end(table, "9"), "");
}

TEST(BlockedReader, a_thread_that_reads_a_pipe_is_seen_to_do_so) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::atomic<pid_t> tid{0};
  std::thread reader([&] {
    tid = ::gettid();
    char byte = 0;
    (void)!::read(ends[0], &byte, 1);
  });
  TaskFiles files;
  BlockedReader blocked(files);
  Doing doing = Doing::other;
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (doing != Doing::on_pipe && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (tid != 0) doing = blocked.read(::getpid(), tid, 'S').doing;
  }
  EXPECT_EQ(doing, Doing::on_pipe);
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  reader.join();
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(BlockedReader, a_name_that_lies_in_two_pages_is_read_whole) {
  const TemporaryDirectory folder;
  const std::string name = folder / "fifo";
  ASSERT_EQ(::mkfifo(name.c_str(), 0600), 0);
  constexpr size_t kPage = 4096, kBefore = 8;
  void* const pages =
      ::mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  char* const place = static_cast<char*>(pages) + kPage - kBefore;
  std::memcpy(place, name.c_str(), name.size() + 1);
  std::atomic<pid_t> tid{0};
  std::thread opener([&] {
    tid = ::gettid();
    ::close(::open(place, O_RDONLY));
  });
  TaskFiles files;
  BlockedReader blocked(files);
  std::string seen;
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (seen.empty() && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (tid != 0) seen = blocked.read(::getpid(), tid, 'S').path;
  }
  EXPECT_EQ(seen, name);
  const int writer = ::open(name.c_str(), O_RDWR);
  opener.join();
  ::close(writer);
  ::munmap(pages, 2 * kPage);
}

TEST(MachineWatch, both_versions_of_cgroups_say_how_long_a_limit_has_stopped_one) {
  EXPECT_EQ(throttled_seconds("nr_periods 4\nthrottled_usec 2500000\n"), 2.5);
  EXPECT_EQ(throttled_seconds("nr_periods 4\nthrottled_time 1500000000\n"), 1.5);
  EXPECT_EQ(throttled_seconds("usage_usec 4\n"), std::nullopt);
  EXPECT_EQ(cpu_stat_paths("4:memory:/m\n3:cpu,cpuacct:/job\n0::/\n"),
            (std::vector<std::string>{"/sys/fs/cgroup/cpu,cpuacct/job/cpu.stat",
                                      "/sys/fs/cgroup//cpu.stat"}));
}

constexpr uint64_t kMillisecond = 1'000'000;

TEST(ThreadMeter, all_time_is_given_to_something) {
  ThreadMeter meter(0);
  DoingSeconds all =
      meter.look(0.1, {.ran_ns = 60 * kMillisecond, .waited_ns = 10 * kMillisecond, .turns = 3},
                 Doing::in_file);
  EXPECT_NEAR(all[Doing::on_core], 0.06, 1e-9);
  EXPECT_NEAR(all[Doing::for_core], 0.01, 1e-9);
  EXPECT_NEAR(all[Doing::in_file], 0.03, 1e-9);
  // It has not run: all of it is the same wait.
  all += meter.look(0.4, {.ran_ns = 60 * kMillisecond, .waited_ns = 10 * kMillisecond, .turns = 3},
                    Doing::in_file);
  EXPECT_NEAR(all[Doing::in_file], 0.33, 1e-9);
  EXPECT_NEAR(all.sum(), 0.4, 1e-9);
}

TEST(ThreadMeter, a_wait_that_was_not_seen_goes_to_the_next_one_that_is) {
  ThreadMeter meter(0);
  DoingSeconds all =
      meter.look(0.1, {.ran_ns = 60 * kMillisecond, .waited_ns = 0, .turns = 1}, std::nullopt);
  EXPECT_NEAR(all.sum(), 0.06, 1e-9);
  all +=
      meter.look(0.2, {.ran_ns = 130 * kMillisecond, .waited_ns = 0, .turns = 2}, Doing::on_pipe);
  EXPECT_NEAR(all[Doing::on_pipe], 0.07, 1e-9);
  all += meter.look(0.3, {.ran_ns = 200 * kMillisecond, .waited_ns = 0, .turns = 3}, std::nullopt);
  all += meter.end(all);
  EXPECT_NEAR(all[Doing::on_pipe], 0.10, 1e-9);
  EXPECT_NEAR(all.sum(), 0.3, 1e-9);
}

TEST(ThreadMeter, what_waits_for_a_core_was_not_blocked) {
  ThreadMeter meter(0);
  const TaskSchedule before{.ran_ns = 10 * kMillisecond, .waited_ns = 0, .turns = 1};
  DoingSeconds all = meter.look(0.1, before, Doing::on_pipe);
  all += meter.look(0.3, before, Doing::on_pipe);
  // It was woken at once, and had no core until now.
  all += meter.look(0.4, {.ran_ns = 20 * kMillisecond, .waited_ns = 280 * kMillisecond, .turns = 2},
                    std::nullopt);
  EXPECT_NEAR(all[Doing::for_core], 0.28, 1e-9);
  EXPECT_NEAR(all[Doing::on_pipe], 0.1, 1e-9);
  EXPECT_NEAR(all[Doing::on_core], 0.02, 1e-9);
  EXPECT_NEAR(all.sum(), 0.4, 1e-9);
}

TEST(ThreadMeter, what_stands_in_the_queue_is_counted_once) {
  ThreadMeter meter(0);
  const TaskSchedule before{.ran_ns = 10 * kMillisecond, .waited_ns = 0, .turns = 1};
  DoingSeconds all = meter.look(0.01, before, std::nullopt);
  all += meter.look(0.11, before, std::nullopt);
  EXPECT_NEAR(all[Doing::for_core], 0.1, 1e-9);
  all +=
      meter.look(0.21, {.ran_ns = 60 * kMillisecond, .waited_ns = 150 * kMillisecond, .turns = 2},
                 std::nullopt);
  EXPECT_NEAR(all[Doing::for_core], 0.15, 1e-9);
  EXPECT_NEAR(all.sum(), 0.21, 1e-9);
}

TEST(SampleCourse, a_long_course_has_few_windows_and_all_the_time) {
  SampleCourse course(8, 0.1);
  double now = 0;
  for (int i = 0; i < 1000; ++i) {
    now += 0.1;
    DoingSeconds did;
    did[i % 2 == 0 ? Doing::on_core : Doing::in_file] = 0.1;
    course.add(i % 3, did);
    SampleWindow machine;
    machine.disk_busy = 0.5;
    course.close(now, machine);
  }
  // What threads that end had left.
  DoingSeconds rest;
  rest[Doing::on_pipe] = 1;
  course.add(0, rest);
  const auto windows = course.finish();
  EXPECT_LE(windows.size(), 9u);
  double sum = 0;
  double end = 0;
  for (const SampleWindow& window : windows) {
    EXPECT_GT(window.end_s, end);
    end = window.end_s;
    EXPECT_NEAR(*window.disk_busy, 0.5, 1e-9);
    for (const SampleWindow::Share& share : window.threads) sum += share.did.sum();
  }
  EXPECT_NEAR(sum, 101, 1e-6);
  EXPECT_NEAR(end, now, 1e-9);
}

}  // namespace
}  // namespace stoker
