#include "app/tools/mount/mount_point.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "io/core/error.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

constexpr const char* kMountinfo =
    "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
    "40 22 0:41 / /data rw,nosuid shared:5 master:1 - tmpfs tmpfs rw\n"
    "41 40 0:42 / /data ro,nosuid - fuse.stoker data ro,user_id=0\n"
    "42 22 0:43 / /with\\040space\\134 rw - nfs4 host:/x rw\n"
    "broken\n";

TEST(MountPoint, the_kernel_says_what_is_mounted) {
  EXPECT_EQ(mounted_on("/", kMountinfo), "ext4");
  EXPECT_EQ(mounted_on("/data", kMountinfo), "fuse.stoker");  // the last one
  EXPECT_EQ(mounted_on("/with space\\", kMountinfo), "nfs4");
  EXPECT_FALSE(mounted_on("/elsewhere", kMountinfo));
  EXPECT_FALSE(mounted_on("/data", ""));
}

// The exit code and message for a directory.
Error refused(const std::string& directory) {
  try {
    prepare_mount_point(directory, [](const std::string&) {});
  } catch (const Error& error) {
    return error;
  }
  return {ExitCode::ok, "it is taken"};
}

TEST(MountPoint, what_cannot_be_one_is_an_error_that_says_why) {
  const TemporaryDirectory directory;
  const std::string path = directory.path();
  std::ofstream(path + "/file") << "x";
  for (const auto& [where, why] : {std::pair{path, "not empty"},
                                   {path + "/file", "no directory"},
                                   {path + "/absent", "No such file"},
                                   {std::string("/proc"), "type proc is mounted"}}) {
    const Error error = refused(where);
    EXPECT_EQ(error.code(), ExitCode::environment);
    EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
  }
}

TEST(MountPoint, a_path_is_taken_in_any_spelling) {
  const TemporaryDirectory directory;
  const std::string path = std::filesystem::canonical(directory.path()) / "sub";
  std::filesystem::create_directory(path);
  const auto prepared = [](const std::string& where) {
    return prepare_mount_point(where, [](const std::string&) {});
  };
  EXPECT_EQ(prepared(path), path);
  EXPECT_EQ(prepared(path + "/"), path);
  EXPECT_EQ(prepared(path + "/../sub/."), path);
}

}  // namespace
}  // namespace stoker
