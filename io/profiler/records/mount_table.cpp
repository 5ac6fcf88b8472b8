#include "io/profiler/records/mount_table.h"

#include <mntent.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace stoker {
namespace {

// Darshan's list.
constexpr std::array<std::string_view, 13> kOfTheSystem{
    "tmpfs",      "proc", "sysfs", "devpts",     "binfmt_misc", "fusectl", "debugfs",
    "securityfs", "nfsd", "none",  "rpc_pipefs", "hugetlbfs",   "cgroup"};

int64_t ask_for_block_bytes(const std::string& path) {
  constexpr auto kLustre = 0x0BD00BD0;
  struct statfs answer {};
  if (::statfs(path.c_str(), &answer) != 0) return 4096;
  return answer.f_type == kLustre ? int64_t{1} << 20 : static_cast<int64_t>(answer.f_bsize);
}

bool lies_in(std::string_view path, std::string_view directory) {
  if (!path.starts_with(directory)) return false;
  return directory == "/" || path.size() == directory.size() || path[directory.size()] == '/';
}

}  // namespace

MountTable::MountTable(const char* table) {
  bool has_root = false;
  const auto add = [&](std::string_view type, std::string_view path) {
    auto entry = std::make_unique<Entry>();
    entry->mount = {std::string(type), std::string(path)};
    entries_.push_back(std::move(entry));
  };
  const std::unique_ptr<FILE, int (*)(FILE*)> file(::setmntent(table, "r"), &::endmntent);
  mntent found{};
  std::array<char, 8192> text{};
  while (file && ::getmntent_r(file.get(), &found, text.data(), text.size()) != nullptr) {
    const std::string_view type = found.mnt_type, path = found.mnt_dir;
    has_root |= path == "/";
    if (std::ranges::find(kOfTheSystem, type) == kOfTheSystem.end()) add(type, path);
  }
  // The kernel lists what is mounted below the root of a process. After chroot() into a folder,
  // that does not include the file system on which the folder lies.
  if (!has_root) add("unknown", "/");
  // If paths are equal, the last one covers the others.
  std::reverse(entries_.begin(), entries_.end());
  std::stable_sort(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
    return a->mount.path.size() > b->mount.path.size();
  });
}

int64_t MountTable::block_bytes(std::string_view path) const {
  for (const auto& entry : entries_) {
    if (!lies_in(path, entry->mount.path)) continue;
    int64_t bytes = entry->block_bytes.load(std::memory_order_relaxed);
    if (bytes == 0) {
      bytes = std::max<int64_t>(1, ask_for_block_bytes(entry->mount.path));
      entry->block_bytes.store(bytes, std::memory_order_relaxed);
    }
    return bytes;
  }
  return -1;
}

std::vector<IoProfile::Mount> MountTable::list() const {
  std::vector<IoProfile::Mount> all;
  for (const auto& entry : entries_) all.push_back(entry->mount);
  return all;
}

}  // namespace stoker
