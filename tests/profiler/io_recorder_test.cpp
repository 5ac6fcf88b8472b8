#include "io/profiler/io_recorder.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <thread>
#include <vector>

#include "io/profiler/counters/record_name.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/told_calls.h"

namespace stoker {
namespace {

using P = PosixCounters;

struct stat regular_file() {
  struct stat what {};
  what.st_mode = S_IFREG | 0644;
  return what;
}

TEST(IoRecorder, a_file_has_darshans_name_and_number) {
  ToldCalls calls;
  calls.open(5, "/data//train/./a.jpg");
  const FileIo file = file_of(calls.recorder.totals(), "/data/train/a.jpg");
  EXPECT_EQ(counter_of(file, P::OPENS), 1);
  EXPECT_EQ(file.id, record_id("/data/train/a.jpg"));
}

TEST(IoRecorder, a_relative_path_lies_in_the_working_directory) {
  ToldCalls calls;
  calls.open(5, "some/file");
  char directory[PATH_MAX];
  ASSERT_NE(::getcwd(directory, sizeof directory), nullptr);
  const std::string path = std::string(directory) + "/some/file";
  EXPECT_EQ(counter_of(file_of(calls.recorder.totals(), path), P::OPENS), 1);
}

TEST(IoRecorder, a_path_may_lie_in_a_directory_that_is_open) {
  ToldCalls calls;
  // One whose opening nobody told of. Its number is not one of those that are told.
  const TemporaryDirectory directory;
  const int fd = ::open(directory.path().c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_GE(fd, 0);
  calls.open(fd + 1, "/data/train");
  calls.recorder.opened(fd + 2, fd + 1, "a.jpg", calls.next());
  calls.recorder.opened(fd + 3, fd, "b.jpg", calls.next());
  ::close(fd);
  const IoProfile totals = calls.recorder.totals();
  EXPECT_EQ(counter_of(file_of(totals, "/data/train/a.jpg"), P::OPENS), 1);
  EXPECT_EQ(counter_of(file_of(totals, directory / "b.jpg"), P::OPENS), 1);
}

TEST(IoRecorder, calls_on_a_descriptor_are_its_files) {
  ToldCalls calls;
  calls.open(5, "/data/a", 0640);
  calls.open(6, "/data/b");
  calls.read(5, 100);
  calls.write(6, 10);
  calls.recorder.seeked(5, 3, calls.next());
  calls.recorder.mapped(5, calls.next());
  calls.recorder.synced(6, false, calls.next());
  calls.recorder.synced(6, true, calls.next());
  calls.recorder.stated(6, regular_file(), calls.next());
  calls.close(5);
  calls.read(5, 1000);  // of no file any more
  const IoProfile totals = calls.recorder.totals();
  const FileIo a = file_of(totals, "/data/a"), b = file_of(totals, "/data/b");
  EXPECT_EQ(counter_of(a, P::MODE), 0640);
  EXPECT_EQ(counter_of(a, P::BYTES_READ), 100);
  EXPECT_EQ(counter_of(a, P::SEEKS), 1);
  EXPECT_EQ(counter_of(a, P::MMAPS), 1);
  EXPECT_EQ(counter_of(a, P::WRITES), 0);
  EXPECT_EQ(counter_of(b, P::BYTES_WRITTEN), 10);
  EXPECT_EQ(counter_of(b, P::FSYNCS), 1);
  EXPECT_EQ(counter_of(b, P::FDSYNCS), 1);
  EXPECT_EQ(counter_of(b, P::STATS), 1);
  EXPECT_FALSE(a.stdio.has_value());
}

TEST(IoRecorder, a_duplicate_is_of_the_same_file) {
  ToldCalls calls;
  calls.open(5, "/data/a");
  calls.recorder.duplicated(5, 9, calls.next());
  calls.close(5);
  calls.read(9, 7);
  const FileIo file = file_of(calls.recorder.totals(), "/data/a");
  EXPECT_EQ(counter_of(file, P::DUPS), 1);
  EXPECT_EQ(counter_of(file, P::OPENS), 2);
  EXPECT_EQ(counter_of(file, P::BYTES_READ), 7);
}

TEST(IoRecorder, a_duplicate_of_nothing_known_takes_the_number_away) {
  ToldCalls calls;
  calls.open(5, "/data/a");
  calls.recorder.duplicated(40, 5, calls.next());  // dup2 over it
  calls.read(5, 7);
  EXPECT_EQ(counter_of(file_of(calls.recorder.totals(), "/data/a"), P::READS), 0);
}

TEST(IoRecorder, a_range_of_descriptors_may_be_closed) {
  ToldCalls calls;
  for (int fd = 3; fd < 8; ++fd) calls.open(fd, "/data/" + std::to_string(fd));
  calls.recorder.closed_range(4, 5);
  calls.recorder.closed_range(7, UINT_MAX);
  for (int fd = 3; fd < 8; ++fd) calls.read(fd, 1);
  const IoProfile totals = calls.recorder.totals();
  const int64_t reads[] = {1, 0, 0, 1, 0};
  for (int fd = 3; fd < 8; ++fd) {
    EXPECT_EQ(counter_of(file_of(totals, "/data/" + std::to_string(fd)), P::READS), reads[fd - 3])
        << fd;
  }
}

TEST(IoRecorder, what_was_open_before_is_named_and_not_counted) {
  ToldCalls calls;
  calls.recorder.named(5, "/data/a");
  calls.recorder.named(6, "/data/b");
  calls.recorder.named(7, "pipe:[17]");
  calls.read(5, 10);
  calls.read(7, 20);
  const IoProfile totals = calls.recorder.totals();
  EXPECT_EQ(counter_of(file_of(totals, "/data/a"), P::OPENS), 0);
  EXPECT_EQ(counter_of(file_of(totals, "/data/a"), P::READS), 1);
  EXPECT_FALSE(file_of(totals, "/data/b").posix.has_value());
}

TEST(IoRecorder, alignment_is_the_options_and_the_file_systems) {
  ToldCalls calls;
  calls.open(5, "/data/a");
  calls.recorder.read(5, 1, 0, reinterpret_cast<const void*>(0x1008), calls.next());
  calls.recorder.read(5, 1, 0, reinterpret_cast<const void*>(0x1009), calls.next());
  calls.recorder.read(5, 1, 0, nullptr, calls.next());
  const FileIo file = file_of(calls.recorder.totals(), "/data/a");
  EXPECT_EQ(counter_of(file, P::MEM_ALIGNMENT), 8);
  EXPECT_GE(counter_of(file, P::FILE_ALIGNMENT), 512);
  EXPECT_EQ(counter_of(file, P::MEM_NOT_ALIGNED), 1);
}

TEST(IoRecorder, stats_are_of_regular_files_and_make_a_record) {
  ToldCalls calls;
  struct stat directory {};
  directory.st_mode = S_IFDIR | 0755;
  calls.recorder.stated(AT_FDCWD, "/data", directory, calls.next());
  calls.recorder.stated(AT_FDCWD, "/data/a", regular_file(), calls.next());
  const IoProfile totals = calls.recorder.totals();
  EXPECT_FALSE(file_of(totals, "/data").posix.has_value());
  EXPECT_EQ(counter_of(file_of(totals, "/data/a"), P::STATS), 1);
  EXPECT_EQ(counter_of(file_of(totals, "/data/a"), P::OPENS), 0);
}

TEST(IoRecorder, a_rename_counts_where_the_source_has_a_record) {
  ToldCalls calls;
  calls.open(5, "/data/new");
  calls.recorder.renamed(AT_FDCWD, "/data/new", AT_FDCWD, "/data/old", calls.next());
  calls.recorder.renamed(AT_FDCWD, "/data/stranger", AT_FDCWD, "/data/other", calls.next());
  const IoProfile totals = calls.recorder.totals();
  EXPECT_EQ(counter_of(file_of(totals, "/data/new"), P::RENAME_SOURCES), 1);
  const FileIo target = file_of(totals, "/data/old");
  EXPECT_EQ(counter_of(target, P::RENAME_TARGETS), 1);
  EXPECT_EQ(static_cast<uint64_t>(counter_of(target, P::RENAMED_FROM)), record_id("/data/new"));
  EXPECT_FALSE(file_of(totals, "/data/other").posix.has_value());
}

TEST(IoRecorder, folders_of_the_system_are_left_out_by_default_but_not_shared_memory) {
  ToldCalls calls;
  calls.open(5, "/usr/lib/x.so");
  calls.open(6, "/dev/shm/staged");
  calls.read(5, 10);
  calls.read(6, 10);
  const IoProfile totals = calls.recorder.totals();
  EXPECT_FALSE(file_of(totals, "/usr/lib/x.so").posix.has_value());
  EXPECT_EQ(counter_of(file_of(totals, "/dev/shm/staged"), P::READS), 1);
}

TEST(IoRecorder, a_number_that_a_file_left_out_has_now_is_not_the_former_files) {
  ToldCalls calls;
  calls.open(5, "/data/a");
  calls.open(5, "/etc/passwd");  // its close was inside libc
  calls.read(5, 10);
  EXPECT_EQ(counter_of(file_of(calls.recorder.totals(), "/data/a"), P::READS), 0);
}

TEST(IoRecorder, beyond_the_cap_on_memory_files_are_counted_as_dropped) {
  IoRecorderOptions options = ToldCalls::small();
  options.memory = {128u << 10};
  ToldCalls calls(options);
  const int64_t files = 500;
  for (int64_t i = 0; i < files; ++i) {
    calls.open(5, "/data/" + std::to_string(i));
    calls.read(5, 1);
    calls.close(5);
  }
  const IoProfile totals = calls.recorder.totals();
  const auto kept = static_cast<int64_t>(std::count_if(
      totals.files.begin(), totals.files.end(), [](const FileIo& file) { return file.posix; }));
  EXPECT_GT(kept, 10);
  EXPECT_EQ(kept + totals.dropped.files, files);
  EXPECT_TRUE(totals.dropped.posix);
  EXPECT_EQ(counter_of(file_of(totals, "/data/0"), P::READS), 1);
}

TEST(IoRecorder, is_off_until_it_starts_and_after_it_stops) {
  IoRecorder recorder;
  recorder.opened(5, AT_FDCWD, "/data/a", {1, 2});
  EXPECT_FALSE(recorder.on());
  EXPECT_EQ(error_of([&] { recorder.totals(); }),
            "I/O profiler: no session of this process is open");
  ToldCalls calls;
  EXPECT_TRUE(calls.recorder.on());
  calls.open(5, "/data/a");
  EXPECT_EQ(counter_of(file_of(calls.recorder.stop(), "/data/a"), P::OPENS), 1);
  EXPECT_FALSE(calls.recorder.on());
  calls.read(5, 1);
  EXPECT_EQ(error_of([&] { calls.recorder.stop(); }),
            "I/O profiler: no session of this process is open");
}

TEST(IoRecorder, descriptors_are_forgotten_after_a_stop) {
  ToldCalls calls;
  calls.open(5, "/data/a");
  calls.begin_another();
  calls.read(5, 1);  // may be another file's now
  calls.recorder.named(5, "/data/a");
  calls.read(5, 1);
  EXPECT_EQ(counter_of(file_of(calls.recorder.totals(), "/data/a"), P::READS), 1);
}

TEST(IoRecorder, threads_on_one_file_lose_no_call) {
  ToldCalls calls;
  calls.open(5, "/data/a");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&recorder = calls.recorder, i, time = calls.next()] {
      for (int64_t read = 0; read < 5000; ++read) {
        recorder.read(5, 3, read, nullptr, time);
        recorder.opened(10 + i, AT_FDCWD, ("/data/" + std::to_string(read % 700)).c_str(), time);
        recorder.closed(10 + i, {time.end_ns, time.end_ns + 1});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const IoProfile totals = calls.recorder.totals();
  EXPECT_EQ(counter_of(file_of(totals, "/data/a"), P::READS), 20'000);
  EXPECT_EQ(counter_of(file_of(totals, "/data/a"), P::BYTES_READ), 60'000);
  int64_t opens = 0;
  for (const FileIo& file : totals.files) {
    if (file.posix) opens += counter_of(file, P::OPENS);
  }
  EXPECT_EQ(opens, 20'001);
}

TEST(IoRecorder, the_child_of_a_fork_has_forgotten_all) {
  IoRecorder& recorder = IoRecorder::instance();
  recorder.start(ToldCalls::small());
  const pid_t child = ::fork();
  if (child == 0) {
    bool failed = false;
    try {
      recorder.totals();
    } catch (const Error&) {
      failed = true;
    }
    ::_exit(failed && !recorder.on() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(recorder.on());
  recorder.stop();
}

}  // namespace
}  // namespace stoker
