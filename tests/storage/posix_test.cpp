#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <thread>

#include "io/core/error.h"
#include "tests/support/errors.h"
#include "tests/support/storages.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

struct Posix : testing::Test {
  TemporaryDirectory root;
  std::unique_ptr<Storage> storage = posix_storage(root.path());
};

TEST_F(Posix, constructing_touches_nothing) {
  const std::string absent = root / "absent";
  const auto tier = posix_storage(absent);
  EXPECT_FALSE(fs::exists(absent));
  const std::string message =
      "list " + absent + ": No such file or directory; there are none in " + root.path();
  EXPECT_EQ(error_of([&] { tier->list(""); }), message);
  EXPECT_EQ(error_of([&] { tier->list("a/"); }), message);
  put(*tier, "a/b", "x");
  EXPECT_EQ(root.read("absent/a/b"), "x");
}

TEST_F(Posix, a_root_is_required) {
  EXPECT_EQ(error_of([] { make_storage("{type: posix}"); }),
            "test.yaml:1:1: storage: missing key 'root'");
}

TEST_F(Posix, a_root_that_is_not_there_names_what_is) {
  for (const char* file : {"images/x", "masks/x", ".git/x", "notes"}) root.write(file, "x");
  const auto list = [&](const std::string& path) {
    const Node node = parse_yaml("{type: posix, root: '" + path + "'}", "test.yaml");
    const auto tier = Registry<Storage>::global()
                          .parse(Section(node, "", "storage", nullptr))
                          .create({.name = "data"});
    return error_of([&] { tier->list(""); });
  };
  EXPECT_EQ(list(root / "imagse"),
            "list " + root / "imagse" +
                ": No such file or directory (did you mean 'images'?); there are 'images' and "
                "'masks' in " +
                root.path() + ": mend `root` of storage 'data'");
  EXPECT_EQ(list(root / "data/imagenet/train/"),
            "list " + root / "data/imagenet/train/" +
                ": No such file or directory; there are 'images' and 'masks' in " + root.path() +
                ": mend `root` of storage 'data'");
}

TEST_F(Posix, a_root_that_is_a_file_is_named) {
  root.write("file", "x");
  const auto tier = posix_storage(root / "file");
  EXPECT_EQ(error_of([&] { tier->list(""); }), "list " + root / "file" + ": Not a directory");
  EXPECT_EQ(error_of([&] { put(*tier, "a", "x"); }).substr(0, 6), "write ");
}

TEST_F(Posix, temporary_files_are_not_listed) {
  root.write("a/.tmp-0123", "half a file that a killed writer left");
  root.write("a/b", "x");
  EXPECT_EQ(listing(*storage), "a/b=1");
}

TEST_F(Posix, an_empty_directory_is_listed_with_a_slash) {
  fs::create_directories(root / "cats");
  fs::create_directories(root / "dogs/deep");
  root.write("cows/1.jpg", "x");
  EXPECT_EQ(listing(*storage), "cats/=0 cows/1.jpg=1 dogs/deep/=0");
}

TEST_F(Posix, links_are_followed_and_cycles_are_not) {
  TemporaryDirectory elsewhere;
  elsewhere.write("1.jpg", "one");
  fs::create_directory_symlink(elsewhere.path(), root / "linked");
  fs::create_directory_symlink(elsewhere.path(), root / "again");
  fs::create_directory_symlink(root.path(), root / "self");
  fs::create_directory_symlink(root.path(), elsewhere / "up");
  fs::create_symlink(elsewhere / "1.jpg", root / "file.jpg");
  fs::create_symlink("nowhere", root / "dangling.jpg");
  EXPECT_EQ(listing(*storage), "again/1.jpg=3 dangling.jpg=0 file.jpg=3 linked/1.jpg=3");
  EXPECT_EQ(get(*storage, "linked/1.jpg"), "one");
  EXPECT_EQ(error_of([&] { get(*storage, "dangling.jpg"); }),
            "read " + root / "dangling.jpg" + ": No such file or directory");
}

TEST_F(Posix, a_prefix_stays_inside_the_tier) {
  EXPECT_EQ(error_of([&] { storage->list("../"); }),
            "key '..' must be a relative path inside its tier such as a/b.jpg");
}

TEST_F(Posix, what_is_no_file_is_refused_without_hanging) {
  root.write("folder/x", "x");
  ASSERT_EQ(::mkfifo((root / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(error_of([&] { get(*storage, "folder"); }),
            "read " + root / "folder" + ": Is a directory");
  EXPECT_EQ(error_of([&] { get(*storage, "fifo"); }),
            "read " + root / "fifo" + ": not a regular file");
  const Range known{0, 100};
  EXPECT_EQ(error_of([&] { get(*storage, "folder", known); }),
            "read " + root / "folder" + ": Is a directory");
  EXPECT_EQ(error_of([&] { get(*storage, "fifo", known); }),
            "read " + root / "fifo" + ": not a regular file");
  EXPECT_EQ(error_of([&] { get(*storage, "absent", known); }),
            "read " + root / "absent" + ": No such file or directory");
  EXPECT_EQ(listing(*storage), "folder/x=1");
}

// The kernel says that files of /proc are empty, and they are not.
TEST_F(Posix, who_knows_how_long_an_object_is_makes_nobody_ask_the_kernel) {
  const auto proc = make_storage("{type: posix, root: /proc/self}");
  EXPECT_EQ(get(*proc, "comm"), "");
  EXPECT_NE(get(*proc, "comm", {0, 100}), "");
  root.write("x", "0123456789");
  EXPECT_EQ(get(*storage, "x", {0, 11}), "0123456789");
  EXPECT_EQ(get(*storage, "x", {0, 10}), "0123456789");
  EXPECT_EQ(get(*storage, "x", {4, 3}), "456");
  EXPECT_EQ(get(*storage, "x", {10, 3}), "");
}

TEST_F(Posix, a_file_that_shrinks_while_it_is_read_is_an_error) {
  // A sparse file of 256 MiB is long enough to be cut while pread copies zeros out of it.
  const std::string path = root / "big";
  const off_t size = off_t{256} << 20;
  bool seen = false;
  for (int attempt = 0; attempt < 20 && !seen; ++attempt) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT, 0600);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(::ftruncate(fd, size), 0);
    std::jthread cutter([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      EXPECT_EQ(::ftruncate(fd, 10), 0);
    });
    try {
      get(*storage, "big");
    } catch (const IoError& error) {
      seen = std::string(error.what()).find(": the file shrank while it was read (") !=
             std::string::npos;
    }
    cutter.join();
    ::close(fd);
  }
  EXPECT_TRUE(seen);
}

// RLIMIT_FSIZE stands in for a full disk: the write fails in the middle. Prints the message and
// whether the directory is empty.
[[noreturn]] void write_too_much(Storage& storage, const std::string& root) {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{1000, 1000};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  const std::string message = error_of([&] { put(storage, "a", std::string(2000, 'x')); });
  std::fprintf(stderr, "%s, empty: %d", message.c_str(), fs::is_empty(root));
  ::_exit(0);
}

TEST_F(Posix, a_failed_write_is_an_error_and_leaves_nothing) {
  EXPECT_EXIT(write_too_much(*storage, root.path()), testing::ExitedWithCode(0),
              "write .*/a: File too large, empty: 1");
}

}  // namespace
}  // namespace stoker
