#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "io/profiler/attach/attachment.h"
#include "io/profiler/io_session.h"
#include "io/profiler/wrap/wrapped_functions.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/told_calls.h"

// The wrappers with the recorder of the program.

namespace stoker {
namespace {

class RecordedCalls : public testing::Test {
 protected:
  RecordedCalls() {
    Attachment::instance().attach(wrapped_functions());
    count_calls(true);
  }
  ~RecordedCalls() override { end(); }
  static void end() {
    count_calls(false);
    Attachment::instance().detach();
  }
  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "a";
  std::array<char, 100> data_{};
};

TEST_F(RecordedCalls, on_descriptors_are_in_the_counters_of_their_file) {
  IoSession session;
  int fd = open(path_.c_str(), O_CREAT | O_RDWR, 0640);
  EXPECT_EQ(write(fd, data_.data(), 60), 60);
  EXPECT_EQ(pwrite(fd, data_.data(), 40, 60), 40);
  fsync(fd);
  close(fd);
  fd = open(path_.c_str(), O_RDONLY);
  while (read(fd, data_.data(), 80) > 0) continue;
  close(fd);
  const FileIo file = file_of(session.end(), path_);
  end();
  EXPECT_EQ(counter_of(file, PosixCounters::OPENS), 2);
  EXPECT_EQ(counter_of(file, PosixCounters::WRITES), 2);
  EXPECT_EQ(counter_of(file, PosixCounters::BYTES_WRITTEN), 100);
  EXPECT_EQ(counter_of(file, PosixCounters::READS), 3);
  EXPECT_EQ(counter_of(file, PosixCounters::BYTES_READ), 100);
  EXPECT_EQ(counter_of(file, PosixCounters::FSYNCS), 1);
  EXPECT_EQ(file.reads.size(), 3);
}

TEST_F(RecordedCalls, on_streams_are_in_the_counters_of_their_file) {
  IoSession session;
  FILE* stream = std::fopen(path_.c_str(), "w");
  std::fprintf(stream, "%d", 12345);
  EXPECT_EQ(std::fwrite(data_.data(), 1, 95, stream), 95);
  std::fclose(stream);
  stream = std::fopen(path_.c_str(), "r");
  EXPECT_EQ(std::fread(data_.data(), 1, data_.size(), stream), data_.size());
  std::fclose(stream);
  const FileIo file = file_of(session.end(), path_);
  end();
  EXPECT_EQ(counter_of(file, StdioCounters::OPENS), 2);
  EXPECT_EQ(counter_of(file, StdioCounters::WRITES), 2);
  EXPECT_EQ(counter_of(file, StdioCounters::BYTES_WRITTEN), 100);
  EXPECT_EQ(counter_of(file, StdioCounters::READS), 1);
  EXPECT_EQ(counter_of(file, StdioCounters::BYTES_READ), 100);
}

TEST_F(RecordedCalls, on_files_that_were_open_before_have_their_names) {
  count_calls(false);
  const int fd = open(path_.c_str(), O_CREAT | O_RDWR, 0640);
  count_calls(true);
  IoSession session;
  EXPECT_EQ(write(fd, data_.data(), 60), 60);
  const FileIo file = file_of(session.end(), path_);
  close(fd);
  end();
  EXPECT_EQ(counter_of(file, PosixCounters::OPENS), 0);
  EXPECT_EQ(counter_of(file, PosixCounters::BYTES_WRITTEN), 60);
}

// What was opened and closed while nobody counted leaves no trace in what a number stands for.
TEST_F(RecordedCalls, on_a_number_that_another_file_got_meanwhile_are_that_files) {
  int fd = open(path_.c_str(), O_CREAT | O_RDWR, 0640);
  count_calls(false);
  close(fd);
  const std::string other = directory_ / "b";
  ASSERT_EQ(open(other.c_str(), O_CREAT | O_RDWR, 0640), fd);
  count_calls(true);
  IoSession session;
  EXPECT_EQ(write(fd, data_.data(), 60), 60);
  const IoProfile profile = session.end();
  close(fd);
  end();
  EXPECT_EQ(counter_of(file_of(profile, path_), PosixCounters::WRITES), -1);
  EXPECT_EQ(counter_of(file_of(profile, other), PosixCounters::WRITES), 1);
}

}  // namespace
}  // namespace stoker
