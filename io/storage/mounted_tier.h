#pragma once

#include <optional>
#include <string>

namespace stoker {

// A tier that `stoker mount` serves to other programs, as its mount says it. A value.
struct MountedTier {
  std::string name;
  bool emulated = false;
};

// The first column of `mount` for such a tier, and back.
std::string mount_source(const MountedTier& tier);
MountedTier tier_of_mount(const std::string& source);

// What kind of file system that is in /proc/mounts.
inline constexpr const char* kMountedTierType = "fuse.stoker";

// The mounted tier on which a folder lies. Nothing: on none, or the folder is not there. Reads
// /proc/mounts; any thread.
std::optional<MountedTier> mounted_tier(const std::string& folder);

}  // namespace stoker
