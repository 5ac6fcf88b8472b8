#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>

#include "tests/profiler/wrap/attached.h"
#include "tests/support/temporary_directory.h"

extern "C" {
ssize_t __read_chk(int, void*, size_t, size_t);
ssize_t __pread_chk(int, void*, size_t, off_t, size_t);
ssize_t __pread64_chk(int, void*, size_t, off64_t, size_t);
}

namespace stoker {
namespace {

using testing::ElementsAre;

class TransferCalls : public testing::Test {
 protected:
  TransferCalls() {
    directory_.write("a", "0123456789");
    file_ = open((directory_ / "a").c_str(), O_RDWR);
    other_ = open((directory_ / "b").c_str(), O_RDWR | O_CREAT, 0644);
  }
  ~TransferCalls() override {
    close(file_);
    close(other_);
  }
  const TemporaryDirectory directory_;
  int file_ = -1, other_ = -1;
  std::array<char, 64> data_{};
  std::array<iovec, 2> pieces_{{{data_.data(), 2}, {data_.data() + 8, 3}}};
};

TEST_F(TransferCalls, that_read_tell_bytes_and_offset) {
  const auto lines = told_of([&] {
    char* const data = data_.data();
    read(file_, data, 4);
    __read_chk(file_, data, 4, data_.size());
    read(file_, data, 4);
    read(file_, data, 4);
    pread(file_, data, 4, 3);
    pread64(file_, data, 4, 8);
    __pread_chk(file_, data, 1, 1, data_.size());
    __pread64_chk(file_, data, 1, 2, data_.size());
    read(-1, data, 4);
  });
  EXPECT_THAT(lines, ElementsAre("read 4 on", "read 4 on", "read 2 on", "read 0 on", "read 4 at 3",
                                 "read 2 at 8", "read 1 at 1", "read 1 at 2"));
}

TEST_F(TransferCalls, that_write_tell_bytes_and_offset) {
  const auto lines = told_of([&] {
    write(file_, "abc", 3);
    pwrite(file_, "abc", 3, 100);
    pwrite64(file_, "abc", 2, 200);
    write(file_, "", 0);
  });
  EXPECT_THAT(lines, ElementsAre("wrote 3 on", "wrote 3 at 100", "wrote 2 at 200", "wrote 0 on"));
}

TEST_F(TransferCalls, of_several_pieces_are_one) {
  const auto lines = told_of([&] {
    readv(file_, pieces_.data(), 2);
    preadv(file_, pieces_.data(), 2, 1);
    preadv64(file_, pieces_.data(), 1, 2);
    preadv2(file_, pieces_.data(), 2, 3, 0);
    preadv2(file_, pieces_.data(), 2, -1, 0);
    writev(file_, pieces_.data(), 2);
    pwritev(file_, pieces_.data(), 2, 4);
    pwritev2(file_, pieces_.data(), 2, 5, 0);
  });
  EXPECT_THAT(lines, ElementsAre("read 5 on", "read 5 at 1", "read 2 at 2", "read 5 at 3",
                                 "read 5 on", "wrote 5 on", "wrote 5 at 4", "wrote 5 at 5"));
}

TEST_F(TransferCalls, within_the_kernel_read_and_write) {
  const auto lines = told_of([&] {
    off64_t from = 2, to = 30;
    EXPECT_EQ(copy_file_range(file_, &from, other_, &to, 5, 0), 5);
    off_t begin = 1;
    EXPECT_EQ(sendfile(other_, file_, &begin, 4), 4);
    EXPECT_EQ(sendfile(other_, file_, nullptr, 3), 3);
  });
  EXPECT_THAT(lines, ElementsAre("read 5 at 2", "wrote 5 at 30", "read 4 at 1", "wrote 4 on",
                                 "read 3 on", "wrote 3 on"));
}

}  // namespace
}  // namespace stoker
