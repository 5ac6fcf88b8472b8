#pragma once

#include <memory>
#include <optional>
#include <string>

#include "io/metrics/tier_meter.h"
#include "io/storage/storage.h"

namespace stoker {

// A tier of the configuration, metered where inputs.hub is there. A tier that is made of several
// opens each of them by this, under a name of its own ("data.fast"), so that they are seen apart;
// one that only slows another down opens that by create(), as an operation counts once. Throws what
// the tier's constructor throws.
std::unique_ptr<Storage> open_tier(const Component<Storage>& tier, Storage::Inputs inputs);

// `inner`, with every operation on its objects and files counted and timed as the caller sees them.
// The meter must outlive it. Any thread, as every tier.
std::unique_ptr<Storage> metered(std::unique_ptr<Storage> inner, TierMeter& meter);

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
