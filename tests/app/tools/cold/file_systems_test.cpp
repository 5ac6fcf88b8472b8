#include "app/tools/cold/file_systems.h"

#include <gtest/gtest.h>

#include "app/tools/cold/cold.h"
#include "io/storage/tiers.h"

namespace stoker {
namespace {

TEST(ColdFileSystems, are_known_unless_they_are_memory_or_something_lies_behind) {
  for (const char* type : {"ext4", "xfs", "btrfs", "overlay", "squashfs"}) {
    EXPECT_EQ(judge_file_system(type, "/dev/sda1").kind, CacheKind::here) << type;
  }
  for (const char* type : {"tmpfs", "ramfs"}) {
    EXPECT_EQ(judge_file_system(type, "tmpfs").kind, CacheKind::memory) << type;
  }
  for (const char* type : {"nfs4", "lustre", "fuse.sshfs", "fuse", "9p", "zfs"}) {
    EXPECT_EQ(judge_file_system(type, "x").kind, CacheKind::behind) << type;
    EXPECT_NE(judge_file_system(type, "x").why, "") << type;
  }
}

TEST(ColdFileSystems, a_mounted_tier_is_known_where_it_is_emulated) {
  EXPECT_EQ(judge_file_system(kMountedTierType, mount_source({"hdd", true})).kind, CacheKind::here);
  EXPECT_EQ(judge_file_system(kMountedTierType, mount_source({"data", false})).kind,
            CacheKind::behind);
}

TEST(ColdRows, are_the_entries_of_folders_that_were_given) {
  EXPECT_EQ(row_of("data/a/b.jpg", {"data"}), "data/a/");
  EXPECT_EQ(row_of("data/a/b.jpg", {"data/"}), "data/a/");
  EXPECT_EQ(row_of("data/b.jpg", {"data"}), "data/b.jpg");
  EXPECT_EQ(row_of("data/b.jpg", {"data/b.jpg"}), "data/b.jpg");
  EXPECT_EQ(row_of("data2/b.jpg", {"data", "data2"}), "data2/b.jpg");
  EXPECT_EQ(row_of("/x/y", {"/"}), "/x/");
}

}  // namespace
}  // namespace stoker
