#include "io/profiler/preload/preload_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

// What the user of a process that root attaches to may put there.
TEST(PreloadFolder, waits_for_no_fifo_and_follows_no_link_that_is_called_a_log) {
  namespace fs = std::filesystem;
  const TemporaryDirectory outside;
  std::string path;
  {
    PreloadFolder folder;
    path = folder.path();
    ASSERT_EQ(::mkfifo((path + "/1.log").c_str(), 0600), 0);
    fs::create_directory(path + "/2.log");
    fs::create_symlink(outside.path(), path + "/3.log");
    fs::create_symlink("/dev/zero", path + "/4.log");
    folder.collect_ended();
    EXPECT_TRUE(folder.collect().empty());
  }
  EXPECT_FALSE(fs::exists(path));
  EXPECT_TRUE(fs::exists(outside.path()));
}

// To its own user, which needs no rights: the descriptors lead to the folder that was made.
TEST(PreloadFolder, is_given_by_descriptors_and_not_by_its_path) {
  namespace fs = std::filesystem;
  PreloadFolder folder;
  const std::string path = folder.path(), aside = path + "-aside";
  fs::rename(path, aside);
  fs::create_directory_symlink("/nowhere", path);
  EXPECT_NO_THROW(folder.give_to(::geteuid(), ::getegid()));
  EXPECT_TRUE(folder.collect().empty());
  fs::remove(path);
  fs::rename(aside, path);
}

}  // namespace
}  // namespace stoker
