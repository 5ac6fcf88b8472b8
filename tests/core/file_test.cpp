#include "io/core/system/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <stop_token>
#include <thread>

#include "io/core/error.h"
#include "io/core/threads.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

Bytes bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

struct File : testing::Test {
  TemporaryDirectory directory;
  bool empty() const { return std::filesystem::is_empty(directory.path()); }
};

TEST_F(File, appears_whole_with_its_directories) {
  atomic_write_file(directory / "a/b/c.txt", bytes_of("text"));
  EXPECT_EQ(directory.read("a/b/c.txt"), "text");
  atomic_write_file(directory / "a/b/c.txt", bytes_of("new"));
  EXPECT_EQ(directory.read("a/b/c.txt"), "new");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory / "a/b"), {}), 1);
}

TEST_F(File, appears_only_where_its_directory_is_if_that_is_needed) {
  constexpr auto kNeeded = AtomicFile::Parents::needed;
  EXPECT_EQ(error_of([&] { atomic_write_file(directory / "a/b", bytes_of("text"), kNeeded); }),
            "write " + directory / "a/b" + ": No such file or directory");
  EXPECT_TRUE(empty());
  atomic_write_file(directory / "b", bytes_of("text"), kNeeded);
  EXPECT_EQ(directory.read("b"), "text");
  std::filesystem::create_directory(directory / "c");
  AtomicFile file(directory / "c/d", kNeeded);
  std::filesystem::remove_all(directory / "c");
  EXPECT_THROW(file.commit(), IoError);
  EXPECT_FALSE(std::filesystem::exists(directory / "c"));
}

TEST_F(File, respects_the_umask) {
  const mode_t before = ::umask(027);
  atomic_write_file(directory / "file", bytes_of("x"));
  ::umask(before);
  struct stat status {};
  ASSERT_EQ(::stat((directory / "file").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

// A link stays, also one that leads to a file which is not there yet, and through other links.
TEST_F(File, links_are_followed) {
  namespace fs = std::filesystem;
  fs::create_directory(directory / "below");
  fs::create_symlink("below/real", directory / "link");
  fs::create_symlink(directory / "link", directory / "further");
  fs::create_symlink("loop", directory / "loop");
  for (const std::string text : {"text", "new"}) {
    atomic_write_file(directory / "further", bytes_of(text));
    EXPECT_EQ(directory.read("below/real"), text);
  }
  EXPECT_TRUE(fs::is_symlink(directory / "link") && fs::is_symlink(directory / "further"));
  EXPECT_FALSE(is_written_through(directory / "further"));
  EXPECT_EQ(error_of([&] { atomic_write_file(directory / "loop", bytes_of("x")); }),
            "write " + directory / "loop" + ": Too many levels of symbolic links");
}

TEST_F(File, links_are_replaced_where_others_may_have_made_them) {
  directory.write("theirs", "x");
  std::filesystem::create_symlink("theirs", directory / "link");
  AtomicFile file(directory / "link", AtomicFile::Links::replaced);
  file.append(bytes_of("ours"));
  file.commit();
  EXPECT_EQ(directory.read("theirs"), "x");
  EXPECT_EQ(directory.read("link"), "ours");
}

TEST_F(File, what_is_not_a_plain_file_is_written_through) {
  namespace fs = std::filesystem;
  ASSERT_EQ(::mkfifo((directory / "fifo").c_str(), 0600), 0);
  fs::create_symlink("fifo", directory / "link");
  std::string got;
  std::jthread reader([&] {
    std::ifstream in(directory / "fifo");
    std::getline(in, got);
  });
  atomic_write_file(directory / "link", bytes_of("through"));
  reader.join();
  EXPECT_EQ(got, "through");
  EXPECT_TRUE(fs::is_fifo(directory / "fifo") && fs::is_symlink(directory / "link"));
  // A descriptor is written where it stands: what is there already stays.
  const FileDescriptor out = open_file("write", directory / "out", O_WRONLY | O_CREAT);
  write_all(out, bytes_of("before "), "out");
  fs::create_symlink("/dev/fd/" + std::to_string(out.get()), directory / "descriptor");
  atomic_write_file(directory / "descriptor", bytes_of("now"));
  write_all(out, bytes_of(" after"), "out");
  EXPECT_EQ(directory.read("out"), "before now after");
  for (const char* path : {"-", "/dev/stdout", "/dev/null"}) EXPECT_TRUE(is_written_through(path));
  if (::mknod((directory / "null").c_str(), S_IFCHR | 0666, 0x103) != 0) return;  // not root
  atomic_write_file(directory / "null", bytes_of("x"));
  EXPECT_TRUE(fs::is_character_file(directory / "null"));
}

// Nobody reads: the wait is given up.
TEST_F(File, a_fifo_without_a_reader_can_be_given_up) {
  ASSERT_EQ(::mkfifo((directory / "fifo").c_str(), 0600), 0);
  std::stop_source stop;
  const Interruptible interruptible(stop.get_token());
  stop.request_stop();
  EXPECT_THROW(atomic_write_file(directory / "fifo", bytes_of("x")), Interrupted);
}

TEST_F(File, without_commit_leaves_nothing) {
  {
    AtomicFile file(directory / "a/b/c");
    file.append(bytes_of("half"));
    EXPECT_FALSE(std::filesystem::exists(directory / "a"));
  }
  EXPECT_TRUE(empty());
}

TEST_F(File, errors_name_the_operation_and_the_path) {
  directory.write("file", "x");
  EXPECT_EQ(error_of([&] { open_file("read", directory / "none", 0); }),
            "read " + directory / "none" + ": No such file or directory");
  EXPECT_EQ(error_of([&] { make_directories(directory / "file/below"); }),
            "make directory " + directory / "file" + ": Not a directory");
  std::filesystem::create_directory(directory / "folder");
  EXPECT_EQ(error_of([&] { atomic_write_file(directory / "folder", bytes_of("x")); }),
            "write " + directory / "folder" + ": Is a directory");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 2);
}

TEST_F(File, a_full_device_is_an_error) {
  const FileDescriptor full = open_file("write", "/dev/full", 1);
  EXPECT_EQ(error_of([&] { write_all(full, bytes_of("x"), "/dev/full"); }),
            "write /dev/full: No space left on device");
}

// Anybody may put such a thing into a folder that is shared.
TEST_F(File, what_is_no_regular_file_is_neither_waited_for_nor_read_without_end) {
  ASSERT_EQ(::mkfifo((directory / "fifo").c_str(), 0666), 0);
  ASSERT_EQ(::symlink("/dev/zero", (directory / "zero").c_str()), 0);
  ASSERT_EQ(::symlink(directory.path().c_str(), (directory / "folder").c_str()), 0);
  directory.write("huge", "");
  ASSERT_EQ(::truncate((directory / "huge").c_str(), off_t{1} << 40), 0);
  const auto error = [&](const char* name) {
    return error_of([&] { read_if_there(directory / name); });
  };
  EXPECT_EQ(error("fifo"),
            "read " + directory / "fifo" + ": it is a FIFO, and a regular file is needed there");
  EXPECT_EQ(error("zero"),
            "read " + directory / "zero" + ": it is a device, and a regular file is needed there");
  EXPECT_EQ(error("folder"), "read " + directory / "folder" + ": Is a directory");
  EXPECT_EQ(error("huge"), "read " + directory / "huge" + ": File too large");
  EXPECT_EQ(read_if_there(directory / "huge", 5), std::string(5, '\0'));
  EXPECT_FALSE(open_regular("read", directory / "none", O_RDONLY));
}

TEST_F(File, a_stream_that_the_user_named_is_read_to_its_end) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const FileDescriptor from(ends[0]);
  write_all(FileDescriptor(ends[1]), bytes_of("a: 1"), "pipe");
  const std::string path = "/dev/fd/" + std::to_string(from.get());
  EXPECT_EQ(read_if_there(path, 100, Readable::streams), "a: 1");
}

TEST(FileName, temporary_ones_are_known) {
  EXPECT_TRUE(is_temporary(".tmp-0123"));
  EXPECT_FALSE(is_temporary("tmp"));
  EXPECT_FALSE(is_temporary(".tmpfile"));
}

TEST_F(File, read_if_there_gives_all_of_a_file_or_nothing) {
  const std::string text(3 << 20, 'x');
  atomic_write_file(directory / "a", {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  EXPECT_EQ(read_if_there(directory / "a"), text);
  EXPECT_EQ(read_if_there(directory / "none"), std::nullopt);
  EXPECT_THROW(read_if_there(directory.path()), IoError);
}

}  // namespace
}  // namespace stoker
