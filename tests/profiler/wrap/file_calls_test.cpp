#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "tests/profiler/wrap/attached.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

using testing::ElementsAre;

class FileCalls : public testing::Test {
 protected:
  FileCalls() {
    directory_.write("a", "0123456789");
    file_ = open(path_.c_str(), O_RDWR);
    below_ = open(directory_.path().c_str(), O_RDONLY | O_DIRECTORY);
  }
  ~FileCalls() override {
    close(file_);
    close(below_);
  }
  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "a";
  int file_ = -1, below_ = -1;
};

TEST_F(FileCalls, that_ask_for_a_status_tell_path_or_descriptor) {
  struct stat what {};
  struct statx more {};
  const auto lines = told_of([&] {
    stat(path_.c_str(), &what);
    lstat(path_.c_str(), &what);
    fstat(file_, &what);
    fstatat(below_, "a", &what, 0);
    fstatat(file_, "", &what, AT_EMPTY_PATH);
    statx(below_, "a", 0, STATX_BASIC_STATS, &more);
    statx(file_, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &more);
    stat((path_ + "no").c_str(), &what);
  });
  const std::string by_path = "stated " + path_ + " 10", below = "stated below: a 10";
  EXPECT_THAT(lines,
              ElementsAre(by_path, by_path, "stated 10", below, "stated 10", below, "stated 10"));
}

TEST_F(FileCalls, that_seek_map_and_sync_are_told) {
  const auto lines = told_of([&] {
    lseek(file_, 3, SEEK_SET);
    lseek64(file_, -1, SEEK_END);
    munmap(mmap(nullptr, 10, PROT_READ, MAP_PRIVATE, file_, 0), 10);
    munmap(mmap(nullptr, 10, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 10);
    munmap(mmap(nullptr, 10, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, file_, 0), 10);
    fsync(file_);
    fdatasync(file_);
  });
  EXPECT_THAT(lines, ElementsAre("seeked 3", "seeked 9", "mapped", "synced", "synced data"));
}

TEST_F(FileCalls, that_rename_tell_both_names) {
  const std::string to = directory_ / "b";
  const auto lines = told_of([&] {
    rename(path_.c_str(), to.c_str());
    renameat(below_, "b", below_, "c");
    renameat2(below_, "c", below_, "d", RENAME_NOREPLACE);
    rename(path_.c_str(), to.c_str());
  });
  EXPECT_THAT(lines, ElementsAre("renamed " + path_ + " " + to, "renamed below: b below: c",
                                 "renamed below: c below: d"));
}

}  // namespace
}  // namespace stoker
