#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "io/profiler/io_recorder.h"
#include "io/profiler/profile_summary.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/told_calls.h"

namespace stoker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using P = PosixCounters;

std::vector<std::string> paths(const IoProfile& profile) {
  std::vector<std::string> all;
  for (const FileIo& file : profile.files) {
    if (!file.path.starts_with('<')) all.push_back(file.path);  // not the standard streams
  }
  return all;
}

TEST(RecorderSession, has_what_was_counted_in_it_and_no_other_files) {
  ToldCalls calls;
  calls.open(5, "/data/a");
  calls.open(6, "/data/b");
  calls.read(5, 100, 0);
  calls.begin_another();
  calls.recorder.named(5, "/data/a");
  calls.recorder.named(6, "/data/b");
  calls.read(5, 10, 100);
  calls.read(5, 10, 110);
  const IoProfile profile = calls.recorder.stop();
  EXPECT_THAT(paths(profile), ElementsAre("/data/a"));
  const FileIo a = file_of(profile, "/data/a");
  EXPECT_EQ(counter_of(a, P::OPENS), 0);
  EXPECT_EQ(counter_of(a, P::READS), 2);
  EXPECT_EQ(counter_of(a, P::BYTES_READ), 20);
  EXPECT_EQ(counter_of(a, P::MAX_BYTE_READ), 119);
  EXPECT_EQ(counter_of(a, P::ACCESS1_ACCESS), 10);
  EXPECT_FALSE(a.stdio.has_value());
}

TEST(RecorderSession, files_come_in_the_order_in_which_they_became_known) {
  ToldCalls calls;
  for (const char* path : {"/data/c", "/data/a", "/data/b", "/data/a"}) calls.open(6, path);
  EXPECT_THAT(paths(calls.recorder.stop()), ElementsAre("/data/c", "/data/a", "/data/b"));
}

TEST(RecorderSession, in_which_nothing_happened_is_empty) {
  ToldCalls calls;
  const IoProfile profile = calls.recorder.stop();
  EXPECT_THAT(paths(profile), IsEmpty());
  EXPECT_GE(profile.end_ns, profile.begin_ns);
  EXPECT_EQ(profile.job_id, ::getpid());
  EXPECT_FALSE(profile.command.empty());
  EXPECT_FALSE(profile.mounts.empty());
}

TEST(RecorderSession, times_are_seconds_since_its_begin) {
  ToldCalls calls;
  calls.recorder.named(5, "/data/a");
  calls.read(5, 100, 0);
  const CallTime read = calls.last;
  const IoProfile profile = calls.recorder.stop();
  const FileIo a = file_of(profile, "/data/a");
  const double begin_s = 1e-9 * static_cast<double>(read.begin_ns - profile.begin_monotonic_ns);
  EXPECT_NEAR(a.posix->times[P::READ_START], begin_s, 1e-8);
  EXPECT_NEAR(a.posix->times[P::READ_END], begin_s + 1e-6, 1e-8);
  EXPECT_NEAR(a.posix->times[P::READ_TIME], 1e-6, 1e-8);
  EXPECT_EQ(a.posix->times[P::OPEN_START], 0);
  ASSERT_EQ(a.reads.size(), 1u);
  EXPECT_NEAR(a.reads[0].begin_s, begin_s, 1e-8);
}

TEST(RecorderSession, a_call_that_began_before_it_counts_from_its_begin) {
  ToldCalls calls;
  const CallTime before = calls.next();
  calls.begin_another();
  calls.recorder.named(5, "/data/a");
  calls.recorder.read(5, 1, 0, nullptr, {before.begin_ns - 1'000'000'000, calls.next().end_ns});
  const FileIo a = file_of(calls.recorder.stop(), "/data/a");
  EXPECT_EQ(a.posix->times[P::READ_START], 1e-9);
  EXPECT_GT(a.posix->times[P::READ_TIME], 0);
  EXPECT_NEAR(a.posix->times[P::READ_TIME], a.posix->times[P::READ_END], 1e-8);
  EXPECT_EQ(a.reads.at(0).begin_s, 1e-9);
}

TEST(RecorderSession, keeps_each_read_and_write_with_its_place) {
  ToldCalls calls;
  calls.open(5, "/data/a");
  calls.read(5, 1, 0);
  for (int64_t i = 0; i < 20; ++i) calls.read(5, 10);
  calls.write(5, 3, 7);
  EXPECT_THAT(file_of(calls.recorder.totals(), "/data/a").reads, IsEmpty());
  const FileIo a = file_of(calls.recorder.stop(), "/data/a");
  ASSERT_EQ(a.reads.size(), 21u);
  EXPECT_EQ(a.reads[1].offset, 1);
  EXPECT_EQ(a.reads[20].offset, 191);
  EXPECT_EQ(a.reads[20].bytes, 10);
  ASSERT_EQ(a.writes.size(), 1u);
  EXPECT_EQ(a.writes[0].offset, 7);
}

TEST(RecorderSession, segments_beyond_their_memory_are_counted_and_the_next_session_has_it_again) {
  IoRecorderOptions options = ToldCalls::small();
  options.segment_memory = {4096};
  ToldCalls calls(options);
  for (int round = 0; round < 3; ++round) {
    calls.begin_another();
    calls.open(5, "/data/a");
    for (int64_t i = 0; i < 200; ++i) calls.read(5, 10);
    const IoProfile profile = calls.recorder.stop();
    calls.recorder.start(options);
    const auto kept = static_cast<int64_t>(file_of(profile, "/data/a").reads.size());
    EXPECT_GT(kept, 50);
    EXPECT_EQ(kept + profile.dropped.segments, 200);
    EXPECT_TRUE(profile.dropped.segments_partial);
    EXPECT_FALSE(profile.dropped.posix);
    EXPECT_EQ(counter_of(file_of(profile, "/data/a"), P::READS), 200);
  }
}

TEST(RecorderSession, has_the_memory_of_those_before_it) {
  IoRecorderOptions options = ToldCalls::small();
  options.memory = {1u << 20};
  ToldCalls calls(options);
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 200; ++i) calls.open(5, "/data/" + std::to_string(200 * round + i));
    EXPECT_EQ(calls.recorder.totals().dropped.files, 0) << round;
    calls.begin_another();
  }
}

TEST(RecorderSession, one_is_open_at_a_time) {
  ToldCalls calls;
  EXPECT_EQ(error_of([&] { calls.recorder.start(calls.options); }),
            "I/O profiler: a session is open already; end it first");
  calls.recorder.stop();
  EXPECT_EQ(code_of([&] { calls.recorder.stop(); }), ExitCode::bug);
}

TEST(RecorderSession, compares_its_bytes_with_the_kernels) {
  const TemporaryDirectory directory;
  directory.write("a", std::string(100'000, 'x'));
  const int fd = ::open((directory / "a").c_str(), O_RDONLY);
  ToldCalls calls;
  calls.recorder.named(fd, (directory / "a").c_str());
  std::vector<char> buffer(100'000);
  ASSERT_EQ(::pread(fd, buffer.data(), buffer.size(), 0), 100'000);
  calls.read(fd, 100'000, 0);
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  ASSERT_EQ(::write(pipe[1], buffer.data(), 50), 50);
  calls.write(pipe[1], 50);
  ASSERT_EQ(::read(pipe[0], buffer.data(), 30), 30);
  calls.read(pipe[0], 30);
  ASSERT_EQ(::read(pipe[0], buffer.data(), 20), 20);  // nobody tells
  const IoProfile profile = calls.recorder.stop();
  for (const int descriptor : {fd, pipe[0], pipe[1]}) ::close(descriptor);
  if (!profile.kernel) GTEST_SKIP() << "this system hides /proc/self/io";
  EXPECT_EQ(profile.kernel->elsewhere_read, 30);
  const auto check = check_bytes(profile);
  ASSERT_TRUE(check.has_value());
  EXPECT_EQ(check->seen_read, 100'030);
  EXPECT_EQ(check->read_difference(), 20);
  EXPECT_EQ(check->seen_written, 50);
  EXPECT_EQ(check->written_difference(), 0);
}

// Sessions end while other threads are in the recorder: what these use stays until they have left.
TEST(RecorderSession, those_that_end_under_load_have_each_call_whole) {
  ToldCalls calls;
  constexpr int kThreads = 3;
  std::atomic<int64_t> told{0};
  int64_t in_sessions = 0, segments = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i, time = calls.next()](const std::stop_token& stop) {
        for (int64_t call = 0; !stop.stop_requested(); ++call) {
          const std::string path = "/data/" + std::to_string(call % 50);
          calls.recorder.opened(10 + i, AT_FDCWD, path.c_str(), time);
          calls.recorder.read(10 + i, 1, -1, nullptr, time);
          ++told;
        }
      });
    }
    for (int session = 0; session < 300; ++session) {
      std::this_thread::yield();
      const IoProfile profile = calls.recorder.stop();
      calls.recorder.start(calls.options);
      for (const FileIo& file : profile.files) {
        if (!file.posix) continue;
        in_sessions += counter_of(file, P::READS);
        EXPECT_EQ(counter_of(file, P::BYTES_READ), counter_of(file, P::READS));
        segments += static_cast<int64_t>(file.reads.size());
      }
      segments += profile.dropped.segments;
    }
  }
  EXPECT_LE(in_sessions, told);
  EXPECT_GT(in_sessions, 0);
  EXPECT_EQ(segments, in_sessions);
}

}  // namespace
}  // namespace stoker
