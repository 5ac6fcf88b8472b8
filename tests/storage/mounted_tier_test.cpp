#include <gtest/gtest.h>

#include "io/storage/tiers.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

TEST(MountedTier, is_said_in_the_mounts_first_column) {
  for (const MountedTier& tier : {MountedTier{"data", true}, MountedTier{"data", false}}) {
    const MountedTier read = tier_of_mount(mount_source(tier));
    EXPECT_EQ(read.name, tier.name);
    EXPECT_EQ(read.emulated, tier.emulated);
  }
}

// Beside a real mount: tests/app/tools/bench/lmdb_test.py.
TEST(MountedTier, a_folder_of_another_file_system_is_on_none) {
  const TemporaryDirectory directory;
  EXPECT_FALSE(mounted_tier(directory.path()));
  EXPECT_FALSE(mounted_tier("/proc"));
  EXPECT_FALSE(mounted_tier(directory / "absent"));
}

}  // namespace
}  // namespace stoker
