#include "io/storage/mounted_tier.h"

#include <mntent.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>

namespace stoker {
namespace {

constexpr const char* kEmulated = "emulated:";

bool lies_in(const std::string& path, const std::string& directory) {
  if (!path.starts_with(directory)) return false;
  return directory.ends_with('/') || path.size() == directory.size() ||
         path[directory.size()] == '/';
}

}  // namespace

std::string mount_source(const MountedTier& tier) {
  return (tier.emulated ? kEmulated : "") + tier.name;
}

MountedTier tier_of_mount(const std::string& source) {
  if (!source.starts_with(kEmulated)) return {source, false};
  return {source.substr(std::string(kEmulated).size()), true};
}

std::optional<MountedTier> mounted_tier(const std::string& folder) {
  std::error_code absent;
  const std::string path = std::filesystem::canonical(folder, absent);
  const std::unique_ptr<FILE, int (*)(FILE*)> mounts(::setmntent("/proc/self/mounts", "re"),
                                                     &::endmntent);
  if (absent || !mounts) return std::nullopt;
  // Of mounts on one directory the last covers the others.
  size_t longest = 0;
  std::optional<MountedTier> found;
  mntent mount{};
  std::array<char, 8192> text{};
  while (::getmntent_r(mounts.get(), &mount, text.data(), static_cast<int>(text.size())) !=
         nullptr) {
    const std::string directory = mount.mnt_dir;
    if (directory.size() < longest || !lies_in(path, directory)) continue;
    longest = directory.size();
    found.reset();
    if (mount.mnt_type == std::string(kMountedTierType)) found = tier_of_mount(mount.mnt_fsname);
  }
  return found;
}

}  // namespace stoker
