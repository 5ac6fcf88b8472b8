#include <dirent.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/profiler/wrap/attached.h"
#include "tests/support/temporary_directory.h"

extern "C" {
int __open_2(const char*, int);
int __open64_2(const char*, int);
int __openat_2(int, const char*, int);
int __openat64_2(int, const char*, int);
}

namespace stoker {
namespace {

using testing::ElementsAre;

class DescriptorCalls : public testing::Test {
 protected:
  const TemporaryDirectory directory_;
  const std::string file_ = directory_ / "a";
};

TEST_F(DescriptorCalls, that_open_tell_the_path) {
  directory_.write("a", "text");
  const int below = open(directory_.path().c_str(), O_RDONLY | O_DIRECTORY);
  const char* const path = file_.c_str();
  const auto lines = told_of([&] {
    for (const int fd :
         {open(path, O_RDONLY), open64(path, O_RDONLY), __open_2(path, O_RDONLY),
          __open64_2(path, O_RDONLY), openat(below, "a", O_RDONLY), openat64(below, "a", O_RDONLY),
          __openat_2(below, "a", O_RDONLY), __openat64_2(below, "a", O_RDONLY), creat(path, 0644),
          creat64(path, 0644)}) {
      close(fd);
    }
    open((file_ + "no").c_str(), O_RDONLY);
  });
  close(below);
  const std::string opened = "opened " + file_, from = "opened below: a", closed = "closed";
  const std::string created = opened + " " + std::to_string(0644);
  EXPECT_THAT(lines, ElementsAre(opened, opened, opened, opened, from, from, from, from, created,
                                 created, closed, closed, closed, closed, closed, closed, closed,
                                 closed, closed, closed));
}

TEST_F(DescriptorCalls, that_open_keep_the_mode) {
  const mode_t mask = umask(0);
  struct stat made {
  }, unnamed{};
  told_of([&] {
    int fd = open(file_.c_str(), O_CREAT | O_WRONLY, 0604);
    fstat(fd, &made);
    close(fd);
    fd = open(directory_.path().c_str(), O_TMPFILE | O_RDWR, 0640);
    fstat(fd, &unnamed);
    close(fd);
  });
  umask(mask);
  EXPECT_EQ(made.st_mode & 0777, 0604);
  EXPECT_EQ(unnamed.st_mode & 0777, 0640);
}

TEST_F(DescriptorCalls, that_make_temporary_files_tell_the_name_they_made) {
  std::string name = directory_ / "XXXXXX";
  const auto lines = told_of([&] { close(mkstemp(name.data())); });
  EXPECT_THAT(lines, ElementsAre("opened " + name, "closed"));
}

TEST_F(DescriptorCalls, on_directories_open_and_close_a_file) {
  const auto lines = told_of([&] { closedir(opendir(directory_.path().c_str())); });
  EXPECT_THAT(lines, ElementsAre("opened " + directory_.path(), "closed"));
}

TEST_F(DescriptorCalls, that_duplicate_are_told) {
  const auto lines = told_of([&] {
    const int fd = dup(1);
    dup2(1, fd);
    dup3(1, fd, O_CLOEXEC);
    close(fd);
    close(fcntl(1, F_DUPFD, 10));
    close(fcntl(1, F_DUPFD_CLOEXEC, 10));
  });
  const std::string duplicated = "duplicated", closed = "closed";
  EXPECT_THAT(lines, ElementsAre(duplicated, duplicated, duplicated, closed, duplicated, closed,
                                 duplicated, closed));
}

TEST_F(DescriptorCalls, of_fcntl_keep_a_pointer) {
  directory_.write("a", "text");
  const int fd = open(file_.c_str(), O_RDWR);
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  int result = -1;
  const auto lines = told_of([&] { result = fcntl(fd, F_SETLK, &lock); });
  close(fd);
  EXPECT_EQ(result, 0);
  EXPECT_THAT(lines, ElementsAre());
}

TEST_F(DescriptorCalls, that_fail_keep_errno_and_are_not_told) {
  int error = 0;
  const auto lines = told_of([&] {
    close(-1);
    open(file_.c_str(), O_RDONLY);
    error = errno;
  });
  EXPECT_EQ(error, ENOENT);
  EXPECT_THAT(lines, ElementsAre());
}

TEST_F(DescriptorCalls, errno_is_kept_by_those_that_succeed) {
  directory_.write("a", "text");
  int error = 0;
  told_of([&] {
    errno = 123;
    close(open(file_.c_str(), O_RDONLY));
    error = errno;
  });
  EXPECT_EQ(error, 123);
}

}  // namespace
}  // namespace stoker
