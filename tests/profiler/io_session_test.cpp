#include "io/profiler/io_session.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

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
  for (const FileIo& file : profile.files) all.push_back(file.path);
  return all;
}

TEST(IoSession, has_what_was_counted_in_it_and_no_other_files) {
  ToldCalls calls;
  calls.open(5, "/data/a");
  calls.open(6, "/data/b");
  calls.read(5, 100, 0);
  IoSession session(calls.recorder);
  calls.read(5, 10, 100);
  calls.read(5, 10, 110);
  const IoProfile profile = session.end();
  EXPECT_THAT(paths(profile), ElementsAre("/data/a"));
  const FileIo a = file_of(profile, "/data/a");
  EXPECT_EQ(counter_of(a, P::OPENS), 0);
  EXPECT_EQ(counter_of(a, P::READS), 2);
  EXPECT_EQ(counter_of(a, P::BYTES_READ), 20);
  EXPECT_FALSE(a.stdio.has_value());
}

TEST(IoSession, files_come_in_the_order_in_which_they_were_touched) {
  ToldCalls calls;
  calls.open(5, "/data/old");
  IoSession session(calls.recorder);
  for (const char* path : {"/data/c", "/data/a", "/data/b"}) calls.open(6, path);
  calls.read(5, 1);
  EXPECT_THAT(paths(session.end()), ElementsAre("/data/c", "/data/a", "/data/b", "/data/old"));
}

TEST(IoSession, several_follow_each_other_and_the_totals_have_them_all) {
  ToldCalls calls;
  calls.open(5, "/data/a");
  int64_t reads = 0;
  for (int64_t in_session = 1; in_session <= 4; ++in_session) {
    IoSession session(calls.recorder);
    for (int64_t i = 0; i < in_session; ++i) calls.read(5, 10);
    reads += in_session;
    EXPECT_EQ(counter_of(file_of(session.end(), "/data/a"), P::READS), in_session);
    calls.read(5, 10);  // between two
    ++reads;
    EXPECT_EQ(counter_of(file_of(calls.recorder.totals(), "/data/a"), P::READS), reads);
  }
  const FileIo all = file_of(calls.recorder.totals(), "/data/a");
  EXPECT_EQ(counter_of(all, P::BYTES_READ), 10 * reads);
  EXPECT_EQ(counter_of(all, P::OPENS), 1);
  EXPECT_EQ(counter_of(all, P::CONSEC_READS), reads - 1);
}

TEST(IoSession, one_in_which_nothing_happened_is_empty) {
  ToldCalls calls;
  calls.open(5, "/data/a");
  IoSession session(calls.recorder);
  const IoProfile profile = session.end();
  EXPECT_THAT(profile.files, IsEmpty());
  EXPECT_GE(profile.end_ns, profile.begin_ns);
  EXPECT_EQ(profile.job_id, ::getpid());
  EXPECT_FALSE(profile.command.empty());
  EXPECT_FALSE(profile.mounts.empty());
}

TEST(IoSession, maxima_and_the_slowest_call_are_its_own) {
  ToldCalls calls;
  calls.open(5, "/data/a");
  calls.recorder.read(5, 500, 1'000'000, nullptr, {calls.last.end_ns, calls.last.end_ns + 900'000});
  IoSession session(calls.recorder);
  calls.read(5, 10, 0);
  const FileIo a = file_of(session.end(), "/data/a");
  EXPECT_EQ(counter_of(a, P::MAX_BYTE_READ), 9);
  EXPECT_EQ(counter_of(a, P::MAX_READ_TIME_SIZE), 10);
  const FileIo all = file_of(calls.recorder.totals(), "/data/a");
  EXPECT_EQ(counter_of(all, P::MAX_BYTE_READ), 1'000'499);
  EXPECT_EQ(counter_of(all, P::MAX_READ_TIME_SIZE), 500);
}

TEST(IoSession, common_sizes_are_its_own_and_the_runs_are_of_all) {
  ToldCalls calls;
  calls.open(5, "/data/a");
  for (int i = 0; i < 3; ++i) calls.read(5, 100, 0);
  IoSession session(calls.recorder);
  for (int i = 0; i < 2; ++i) calls.read(5, 7, 0);
  const FileIo a = file_of(session.end(), "/data/a");
  EXPECT_EQ(counter_of(a, P::ACCESS1_ACCESS), 7);
  EXPECT_EQ(counter_of(a, P::ACCESS1_COUNT), 2);
  const FileIo all = file_of(calls.recorder.totals(), "/data/a");
  EXPECT_EQ(counter_of(all, P::ACCESS1_ACCESS), 100);
  EXPECT_EQ(counter_of(all, P::ACCESS1_COUNT), 3);
}

TEST(IoSession, a_call_is_compared_with_what_was_before_the_session) {
  ToldCalls calls;
  calls.open(5, "/data/a");
  calls.read(5, 100, 0);
  calls.write(5, 1, 0);
  IoSession session(calls.recorder);
  calls.read(5, 100, 100);
  const FileIo a = file_of(session.end(), "/data/a");
  EXPECT_EQ(counter_of(a, P::CONSEC_READS), 1);
  EXPECT_EQ(counter_of(a, P::RW_SWITCHES), 1);
}

TEST(IoSession, times_are_seconds_since_its_begin) {
  ToldCalls calls;
  calls.open(5, "/data/a");
  IoSession session(calls.recorder);
  calls.read(5, 100, 0);
  const CallTime read = calls.last;
  const IoProfile profile = session.end();
  const FileIo a = file_of(profile, "/data/a");
  const double begin_s = 1e-9 * static_cast<double>(read.begin_ns - profile.begin_monotonic_ns);
  EXPECT_NEAR(a.posix->times[P::READ_START], begin_s, 1e-8);
  EXPECT_NEAR(a.posix->times[P::READ_END], begin_s + 1e-6, 1e-8);
  EXPECT_NEAR(a.posix->times[P::READ_TIME], 1e-6, 1e-8);
  EXPECT_EQ(a.posix->times[P::OPEN_START], 0);
  ASSERT_EQ(a.reads.size(), 1u);
  EXPECT_NEAR(a.reads[0].begin_s, begin_s, 1e-8);
}

TEST(IoSession, a_call_that_began_before_it_is_at_its_begin) {
  ToldCalls calls;
  calls.open(5, "/data/a");
  const CallTime before = calls.next();
  IoSession session(calls.recorder);
  calls.recorder.read(5, 1, 0, nullptr, {before.begin_ns, calls.next().end_ns});
  const FileIo a = file_of(session.end(), "/data/a");
  EXPECT_GT(a.posix->times[P::READ_START], 0);
  EXPECT_LT(a.posix->times[P::READ_START], 1e-6);
  EXPECT_EQ(a.reads.at(0).begin_s, 0);
}

TEST(IoSession, keeps_each_read_and_write_with_its_place) {
  ToldCalls calls;
  calls.open(5, "/data/a");
  calls.read(5, 1, 0);
  IoSession session(calls.recorder);
  for (int64_t i = 0; i < 20; ++i) calls.read(5, 10);
  calls.write(5, 3, 7);
  const FileIo a = file_of(session.end(), "/data/a");
  ASSERT_EQ(a.reads.size(), 20u);
  EXPECT_EQ(a.reads[0].offset, 1);
  EXPECT_EQ(a.reads[19].offset, 191);
  EXPECT_EQ(a.reads[19].bytes, 10);
  ASSERT_EQ(a.writes.size(), 1u);
  EXPECT_EQ(a.writes[0].offset, 7);
  EXPECT_THAT(file_of(calls.recorder.totals(), "/data/a").reads, IsEmpty());
}

TEST(IoSession, segments_beyond_their_memory_are_counted_and_the_next_session_has_it_again) {
  IoRecorderOptions options = ToldCalls::small();
  options.segment_memory = {4096};
  ToldCalls calls(options);
  calls.open(5, "/data/a");
  for (int round = 0; round < 3; ++round) {
    IoSession session(calls.recorder);
    for (int64_t i = 0; i < 200; ++i) calls.read(5, 10);
    const IoProfile profile = session.end();
    const auto kept = static_cast<int64_t>(file_of(profile, "/data/a").reads.size());
    EXPECT_GT(kept, 50);
    EXPECT_EQ(kept + profile.dropped.segments, 200);
    EXPECT_TRUE(profile.dropped.segments_partial);
    EXPECT_FALSE(profile.dropped.posix);
    EXPECT_EQ(counter_of(file_of(profile, "/data/a"), P::READS), 200);
  }
}

TEST(IoSession, one_is_open_at_a_time) {
  ToldCalls calls;
  IoSession session(calls.recorder);
  EXPECT_EQ(error_of([&] { IoSession second(calls.recorder); }),
            "I/O profiler: a session is open already; end it first");
  session.end();
  EXPECT_EQ(code_of([&] { session.end(); }), ExitCode::bug);
  IoSession next(calls.recorder);
}

TEST(IoSession, one_that_is_given_up_leaves_the_next_nothing) {
  ToldCalls calls;
  calls.open(5, "/data/a");
  {
    IoSession session(calls.recorder);
    calls.read(5, 10);
  }
  IoSession session(calls.recorder);
  calls.read(5, 10);
  const FileIo a = file_of(session.end(), "/data/a");
  EXPECT_EQ(counter_of(a, P::READS), 1);
  EXPECT_EQ(a.reads.size(), 1u);
  EXPECT_EQ(counter_of(file_of(calls.recorder.totals(), "/data/a"), P::READS), 2);
}

TEST(IoSession, compares_its_bytes_with_the_kernels) {
  const TemporaryDirectory directory;
  directory.write("a", std::string(100'000, 'x'));
  ToldCalls calls;
  const int fd = ::open((directory / "a").c_str(), O_RDONLY);
  calls.open(fd, directory / "a");
  IoSession session(calls.recorder);
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
  const IoProfile profile = session.end();
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

// Each call is in exactly one session or between two, whenever it comes.
TEST(IoSession, sessions_that_end_under_load_lose_no_call) {
  ToldCalls calls;
  constexpr int kThreads = 3;
  constexpr int64_t kReads = 20'000;
  for (int i = 0; i < kThreads; ++i) calls.open(10 + i, "/data/" + std::to_string(i));
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i, time = calls.next()] {
      for (int64_t read = 0; read < kReads; ++read) {
        calls.recorder.read(10 + (i + read) % kThreads, 1, -1, nullptr, time);
      }
      --running;
    });
  }
  int64_t in_sessions = 0, segments = 0;
  const auto add = [&](const IoProfile& profile) {
    for (const FileIo& file : profile.files) {
      if (!file.posix) continue;
      in_sessions += counter_of(file, P::READS);
      segments += static_cast<int64_t>(file.reads.size());
    }
    segments += profile.dropped.segments;
  };
  while (running > 0) {
    IoSession session(calls.recorder);
    std::this_thread::yield();
    add(session.end());
  }
  for (std::thread& thread : threads) thread.join();
  int64_t total = 0;
  for (const FileIo& file : calls.recorder.totals().files) {
    if (file.posix) total += counter_of(file, P::READS);
  }
  const int64_t between = total - in_sessions;
  EXPECT_EQ(total, kThreads * kReads);
  EXPECT_GE(between, 0);
  EXPECT_EQ(segments, in_sessions);
}

}  // namespace
}  // namespace stoker
