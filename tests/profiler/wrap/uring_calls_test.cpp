#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <liburing.h>
#include <unistd.h>

#include <array>

#include "tests/profiler/wrap/attached.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

class UringCalls : public testing::Test {
 protected:
  UringCalls() { directory_.write("a", "0123456789"); }
  void SetUp() override {
    if (io_uring_queue_init(8, &ring_, 0) != 0) GTEST_SKIP() << "io_uring is refused here";
    open_ = true;
    file_ = open(path_.c_str(), O_RDONLY);
  }
  ~UringCalls() override {
    if (open_) io_uring_queue_exit(&ring_);
    close(file_);
  }
  void ask(unsigned bytes, uint64_t offset, uint64_t user_data) {
    io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
    io_uring_prep_read(entry, file_, data_.data(), bytes, offset);
    entry->user_data = user_data;
  }
  int take() {
    io_uring_cqe* done = nullptr;
    io_uring_wait_cqe(&ring_, &done);
    const int result = done->res;
    io_uring_cqe_seen(&ring_, done);
    return result;
  }
  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "a";
  io_uring ring_{};
  bool open_ = false;
  int file_ = -1;
  std::array<char, 64> data_{};
};

TEST_F(UringCalls, tell_reads_when_they_have_completed) {
  const auto lines = told_of([&] {
    ask(4, 2, 7);
    io_uring_submit(&ring_);
    EXPECT_EQ(take(), 4);
    ask(64, 8, 7);
    io_uring_submit_and_wait(&ring_, 1);
    EXPECT_EQ(take(), 2);
  });
  EXPECT_THAT(lines, ElementsAre("read 4 at 2", "read 2 at 8"));
}

// Several that are there at once are taken inline, without a call of liburing.
TEST_F(UringCalls, tell_completions_that_were_taken_inline) {
  const auto lines = told_of([&] {
    for (uint64_t i = 0; i < 8; ++i) ask(1, i, 0);
    io_uring_submit_and_wait(&ring_, 8);
    for (int i = 0; i < 8; ++i) EXPECT_EQ(take(), 1);
    io_uring_queue_exit(&ring_);
    open_ = false;
  });
  EXPECT_EQ(lines.size(), 8);
}

TEST_F(UringCalls, that_failed_are_not_told) {
  const auto lines = told_of([&] {
    io_uring_prep_read(io_uring_get_sqe(&ring_), -1, data_.data(), 1, 0);
    io_uring_submit(&ring_);
    EXPECT_LT(take(), 0);
  });
  EXPECT_THAT(lines, ElementsAre());
}

TEST_F(UringCalls, open_and_close_files_of_the_ring) {
  const auto lines = told_of([&] {
    io_uring_prep_openat(io_uring_get_sqe(&ring_), AT_FDCWD, path_.c_str(), O_RDONLY, 0);
    io_uring_submit(&ring_);
    const int fd = take();
    ASSERT_GE(fd, 0);
    io_uring_prep_fsync(io_uring_get_sqe(&ring_), fd, IORING_FSYNC_DATASYNC);
    io_uring_submit(&ring_);
    take();
    io_uring_prep_close(io_uring_get_sqe(&ring_), fd);
    io_uring_submit(&ring_);
    take();
  });
  EXPECT_THAT(lines, ElementsAre("opened " + path_, "synced data", "closed"));
}

TEST_F(UringCalls, of_before_counting_began_are_not_told) {
  ask(4, 2, 7);
  io_uring_submit_and_wait(&ring_, 1);
  const auto lines = told_of([&] {
    EXPECT_EQ(take(), 4);
    ask(3, 1, 7);
    io_uring_submit(&ring_);
    EXPECT_EQ(take(), 3);
  });
  EXPECT_THAT(lines, ElementsAre("read 3 at 1"));
}

}  // namespace
}  // namespace stoker
