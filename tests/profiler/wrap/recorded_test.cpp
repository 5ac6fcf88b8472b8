#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "io/profiler/io_profiler.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/told_calls.h"

// The wrappers with the recorder of the program.

namespace stoker {
namespace {

class RecordedCalls : public testing::Test {
 protected:
  void begin() { profiler_.begin(ToldCalls::small()); }
  IoProfile end() { return profiler_.end(); }

  IoProfiler profiler_;
  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "a";
  std::array<char, 100> data_{};
};

TEST_F(RecordedCalls, on_descriptors_are_in_the_counters_of_their_file) {
  begin();
  int fd = open(path_.c_str(), O_CREAT | O_RDWR, 0640);
  EXPECT_EQ(write(fd, data_.data(), 60), 60);
  EXPECT_EQ(pwrite(fd, data_.data(), 40, 60), 40);
  fsync(fd);
  close(fd);
  fd = open(path_.c_str(), O_RDONLY);
  while (read(fd, data_.data(), 80) > 0) continue;
  close(fd);
  const FileIo file = file_of(end(), path_);
  EXPECT_EQ(counter_of(file, PosixCounters::OPENS), 2);
  EXPECT_EQ(counter_of(file, PosixCounters::WRITES), 2);
  EXPECT_EQ(counter_of(file, PosixCounters::BYTES_WRITTEN), 100);
  EXPECT_EQ(counter_of(file, PosixCounters::READS), 3);
  EXPECT_EQ(counter_of(file, PosixCounters::BYTES_READ), 100);
  EXPECT_EQ(counter_of(file, PosixCounters::FSYNCS), 1);
  EXPECT_EQ(file.reads.size(), 3);
}

TEST_F(RecordedCalls, on_streams_are_in_the_counters_of_their_file) {
  begin();
  FILE* stream = std::fopen(path_.c_str(), "w");
  std::fprintf(stream, "%d", 12345);
  EXPECT_EQ(std::fwrite(data_.data(), 1, 95, stream), 95);
  std::fclose(stream);
  stream = std::fopen(path_.c_str(), "r");
  EXPECT_EQ(std::fread(data_.data(), 1, data_.size(), stream), data_.size());
  std::fclose(stream);
  const FileIo file = file_of(end(), path_);
  EXPECT_EQ(counter_of(file, StdioCounters::OPENS), 2);
  EXPECT_EQ(counter_of(file, StdioCounters::WRITES), 2);
  EXPECT_EQ(counter_of(file, StdioCounters::BYTES_WRITTEN), 100);
  EXPECT_EQ(counter_of(file, StdioCounters::READS), 1);
  EXPECT_EQ(counter_of(file, StdioCounters::BYTES_READ), 100);
}

TEST_F(RecordedCalls, on_files_that_were_open_before_have_their_names) {
  const int fd = open(path_.c_str(), O_CREAT | O_RDWR, 0640);
  begin();
  EXPECT_EQ(write(fd, data_.data(), 60), 60);
  const FileIo file = file_of(end(), path_);
  close(fd);
  EXPECT_EQ(counter_of(file, PosixCounters::OPENS), 0);
  EXPECT_EQ(counter_of(file, PosixCounters::BYTES_WRITTEN), 60);
}

// What was opened and closed between two sessions leaves no trace in what a number stands for.
TEST_F(RecordedCalls, on_a_number_that_another_file_got_meanwhile_are_that_files) {
  begin();
  int fd = open(path_.c_str(), O_CREAT | O_RDWR, 0640);
  end();
  close(fd);
  const std::string other = directory_ / "b";
  ASSERT_EQ(open(other.c_str(), O_CREAT | O_RDWR, 0640), fd);
  begin();
  EXPECT_EQ(write(fd, data_.data(), 60), 60);
  const IoProfile profile = end();
  close(fd);
  EXPECT_EQ(counter_of(file_of(profile, path_), PosixCounters::WRITES), -1);
  EXPECT_EQ(counter_of(file_of(profile, other), PosixCounters::WRITES), 1);
}

// A run of days opens more files between its sessions, and in them, than any memory has room for.
TEST_F(RecordedCalls, outside_of_sessions_are_kept_nowhere) {
  IoRecorderOptions options = ToldCalls::small();
  options.memory = {1u << 20};
  const auto open_many = [this](int from) {
    for (int i = from; i < from + 200; ++i) {
      close(open((directory_ / std::to_string(i)).c_str(), O_CREAT | O_RDWR, 0640));
    }
  };
  for (int round = 0; round < 10; ++round) {
    open_many(400 * round);
    profiler_.begin(options);
    open_many(400 * round + 200);
    const IoProfile profile = end();
    EXPECT_EQ(profile.dropped.files, 0) << round;
    EXPECT_GE(profile.files.size(), 200u);
    EXPECT_LE(profile.files.size(), 210u);
  }
}

}  // namespace
}  // namespace stoker
