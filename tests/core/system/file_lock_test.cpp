#include <fcntl.h>
#include <gtest/gtest.h>

#include "io/core/system/neighbours.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

struct FileLocks : ::testing::Test {
  FileDescriptor open() const { return open_file("lock", path, O_RDWR | O_CREAT); }
  const TemporaryDirectory directory;
  const std::string path = directory / "lock";
};

TEST_F(FileLocks, are_of_the_open_file) {
  const FileDescriptor b = open();
  {
    const FileDescriptor a = open();
    EXPECT_EQ(lock_file(a, FileLock::exclusive), 0);
    EXPECT_EQ(lock_file(b, FileLock::exclusive), EAGAIN);
    EXPECT_EQ(lock_file(b, FileLock::shared), EAGAIN);
  }
  EXPECT_EQ(lock_file(b, FileLock::exclusive), 0);
}

TEST_F(FileLocks, turn_into_one_another) {
  const FileDescriptor a = open(), b = open();
  EXPECT_EQ(lock_file(a, FileLock::exclusive), 0);
  EXPECT_EQ(lock_file(a, FileLock::shared), 0);
  EXPECT_EQ(lock_file(b, FileLock::shared, true), 0);
  EXPECT_EQ(lock_file(a, FileLock::exclusive), EAGAIN);
}

TEST_F(FileLocks, of_no_file_are_an_error) {
  EXPECT_EQ(lock_file(FileDescriptor(), FileLock::exclusive), EBADF);
}

}  // namespace
}  // namespace stoker
