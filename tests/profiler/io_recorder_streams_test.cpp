#include <gtest/gtest.h>

#include <cstdio>
#include <memory>

#include "io/profiler/io_recorder.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/told_calls.h"

namespace stoker {
namespace {

using P = PosixCounters;
using S = StdioCounters;

// A real stream, for its descriptor is asked of it; its calls are told.
class StreamCalls : public ::testing::Test {
 protected:
  using Stream = std::unique_ptr<FILE, int (*)(FILE*)>;
  Stream make() { return {std::fopen((directory / "own").c_str(), "w"), &std::fclose}; }
  void open(const Stream& of, const char* path) {
    calls.recorder.stream_opened(of.get(), path, calls.next());
  }
  FileIo total(const std::string& path) { return file_of(calls.recorder.totals(), path); }

  TemporaryDirectory directory;
  ToldCalls calls;
  Stream stream = make();
};

TEST_F(StreamCalls, are_of_the_module_stdio) {
  open(stream, "/data/a");
  calls.recorder.stream_wrote(stream.get(), 100, calls.next());
  calls.recorder.stream_seeked(stream.get(), 0, calls.next());
  calls.recorder.stream_read(stream.get(), 7, calls.next());
  calls.recorder.stream_flushed(stream.get(), calls.next());
  calls.recorder.stream_closed(stream.get(), calls.next());
  calls.recorder.stream_read(stream.get(), 1000, calls.next());
  const FileIo file = total("/data/a");
  EXPECT_EQ(counter_of(file, S::OPENS), 1);
  EXPECT_EQ(counter_of(file, S::BYTES_WRITTEN), 100);
  EXPECT_EQ(counter_of(file, S::SEEKS), 1);
  EXPECT_EQ(counter_of(file, S::BYTES_READ), 7);
  EXPECT_EQ(counter_of(file, S::FLUSHES), 1);
  EXPECT_GT(file.stdio->times[S::CLOSE_END], file.stdio->times[S::OPEN_START]);
  EXPECT_FALSE(file.posix.has_value());
}

TEST_F(StreamCalls, have_segments_and_sizes_which_darshan_does_not_keep) {
  open(stream, "/data/a");
  calls.recorder.stream_wrote(stream.get(), 100, calls.next());
  const CallTime second = calls.next();
  calls.recorder.stream_wrote(stream.get(), 2000, second);
  calls.recorder.stream_seeked(stream.get(), 50, calls.next());
  calls.recorder.stream_read(stream.get(), 7, calls.next());
  const IoProfile profile = calls.recorder.stop();
  const FileIo file = file_of(profile, "/data/a");
  ASSERT_EQ(file.stream_writes.size(), 2U);
  EXPECT_EQ(file.stream_writes[1].offset, 100);
  EXPECT_EQ(file.stream_writes[1].bytes, 2000);
  EXPECT_NEAR(file.stream_writes[1].end_s - file.stream_writes[1].begin_s, 1e-6, 1e-9);
  ASSERT_EQ(file.stream_reads.size(), 1U);
  EXPECT_EQ(file.stream_reads[0].offset, 50);
  EXPECT_TRUE(file.writes.empty());
  ASSERT_TRUE(profile.stream_sizes);
  EXPECT_EQ(profile.stream_sizes->writes[0], 1);
  EXPECT_EQ(profile.stream_sizes->writes[2], 1);
  EXPECT_EQ(profile.stream_sizes->reads[0], 1);
}

// So one ifstream is an open of STDIO, an open of POSIX, and reads of POSIX.
TEST_F(StreamCalls, asking_for_the_descriptor_is_an_open_of_posix) {
  open(stream, "/data/a");
  const int fd = ::fileno(stream.get());
  calls.recorder.stream_asked_for_descriptor(stream.get(), fd, calls.next());
  calls.read(fd, 4096);
  const FileIo file = total("/data/a");
  EXPECT_EQ(counter_of(file, S::OPENS), 1);
  EXPECT_EQ(counter_of(file, S::READS), 0);
  EXPECT_EQ(counter_of(file, P::OPENS), 1);
  EXPECT_EQ(counter_of(file, P::FILENOS), 1);
  EXPECT_EQ(counter_of(file, P::BYTES_READ), 4096);
}

TEST_F(StreamCalls, the_descriptor_of_a_closed_stream_is_no_longer_its_files) {
  open(stream, "/data/a");
  const int fd = ::fileno(stream.get());
  calls.recorder.stream_asked_for_descriptor(stream.get(), fd, calls.next());
  calls.recorder.stream_closed(stream.get(), calls.next());
  calls.write(fd, 50);  // a pipe's
  EXPECT_EQ(counter_of(total("/data/a"), P::WRITES), 0);
}

TEST_F(StreamCalls, a_new_stream_takes_its_number_from_who_had_it) {
  calls.open(::fileno(stream.get()), "/data/before");
  open(stream, "/data/a");
  calls.read(::fileno(stream.get()), 1);
  EXPECT_EQ(counter_of(total("/data/before"), P::READS), 0);
}

TEST_F(StreamCalls, fdopen_is_of_the_descriptors_file_where_that_is_known) {
  const int fd = ::fileno(stream.get());
  calls.open(fd, "/data/a");
  calls.recorder.stream_opened(stream.get(), fd, calls.next());
  calls.recorder.stream_wrote(stream.get(), 10, calls.next());
  const Stream other = make();
  calls.recorder.stream_opened(other.get(), ::fileno(other.get()), calls.next());
  calls.recorder.stream_wrote(other.get(), 10, calls.next());
  const FileIo file = total("/data/a");
  EXPECT_EQ(counter_of(file, S::FDOPENS), 1);
  EXPECT_EQ(counter_of(file, S::OPENS), 1);
  EXPECT_EQ(counter_of(file, S::BYTES_WRITTEN), 10);
  EXPECT_EQ(counter_of(file, P::OPENS), 1);
}

TEST_F(StreamCalls, freopen_is_an_open_of_another_file) {
  open(stream, "/data/a");
  open(stream, "/data/b");
  calls.recorder.stream_wrote(stream.get(), 10, calls.next());
  EXPECT_EQ(counter_of(total("/data/a"), S::WRITES), 0);
  EXPECT_EQ(counter_of(total("/data/b"), S::WRITES), 1);
}

TEST_F(StreamCalls, one_that_was_open_before_is_of_its_descriptors_file) {
  calls.recorder.named(::fileno(stream.get()), "/data/a");
  calls.recorder.stream_wrote(stream.get(), 10, calls.next());
  EXPECT_EQ(counter_of(total("/data/a"), S::OPENS), 0);
  EXPECT_EQ(counter_of(total("/data/a"), S::BYTES_WRITTEN), 10);
}

TEST_F(StreamCalls, the_standard_streams_have_darshans_names) {
  calls.recorder.stream_wrote(stdout, 12, calls.next());
  EXPECT_EQ(counter_of(total("<STDOUT>"), S::OPENS), 1);
  EXPECT_EQ(counter_of(total("<STDOUT>"), S::BYTES_WRITTEN), 12);
  EXPECT_EQ(counter_of(total("<STDIN>"), S::OPENS), 1);
  EXPECT_EQ(counter_of(total("<STDERR>"), S::READS), 0);
}

TEST_F(StreamCalls, a_flush_of_all_streams_is_no_files) {
  calls.recorder.stream_flushed(nullptr, calls.next());
  EXPECT_EQ(counter_of(total("<STDOUT>"), S::FLUSHES), 0);
}

}  // namespace
}  // namespace stoker
