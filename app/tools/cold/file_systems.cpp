#include "app/tools/cold/file_systems.h"

#include <fmt/format.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cctype>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "io/storage/tiers.h"

namespace stoker {
namespace {

constexpr const char* kInMemory[] = {"tmpfs", "ramfs", "devtmpfs", "hugetlbfs"};
constexpr const char* kRemote[] = {"nfs",  "nfs4",   "cifs",     "smb3",  "smbfs",  "9p",
                                   "ceph", "lustre", "gpfs",     "afs",   "beegfs", "orangefs",
                                   "pvfs", "panfs",  "virtiofs", "wekafs"};

bool is_one_of(const std::string& type, const auto& names) {
  return std::ranges::find(names, type) != std::end(names);
}

// Those that are not in the table under the device that their files say.
std::string type_by_number(int file) {
  constexpr uint64_t kBtrfs = 0x9123683e, kZfs = 0x2fc12fc1, kOverlay = 0x794c7630,
                     kTmpfs = 0x01021994, kNfs = 0x6969, kFuse = 0x65735546;
  struct statfs status {};
  if (::fstatfs(file, &status) != 0) return "unknown";
  switch (static_cast<uint64_t>(status.f_type)) {
    case kBtrfs:
      return "btrfs";
    case kZfs:
      return "zfs";
    case kOverlay:
      return "overlay";
    case kTmpfs:
      return "tmpfs";
    case kNfs:
      return "nfs";
    case kFuse:
      return "fuse";
    default:
      return fmt::format("{:#x}", static_cast<uint64_t>(status.f_type));
  }
}

}  // namespace

FileSystem judge_file_system(const std::string& type, const std::string& source) {
  if (is_one_of(type, kInMemory)) {
    return {type, CacheKind::memory, "its memory is the file, so it is never cold"};
  }
  if (type == kMountedTierType && tier_of_mount(source).emulated) return {type, CacheKind::here};
  if (type == "zfs") {
    return {type, CacheKind::behind, "its own cache (ARC) is no page cache and cannot be seen"};
  }
  if (type.starts_with("fuse")) {
    return {type, CacheKind::behind, "the program that serves it may have cached the bytes"};
  }
  if (is_one_of(type, kRemote)) {
    return {type, CacheKind::behind, "its servers may have cached the bytes"};
  }
  return {type, CacheKind::here};
}

FileSystems::FileSystems() {
  std::ifstream table("/proc/self/mountinfo");
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string id, parent, device, word, type, source;
    words >> id >> parent >> device;
    while (words >> word && word != "-") {
    }
    unsigned int major_number = 0, minor_number = 0;
    if (!(words >> type >> source) ||
        std::sscanf(device.c_str(), "%u:%u", &major_number, &minor_number) != 2) {
      continue;
    }
    by_device_.emplace(makedev(major_number, minor_number), judge_file_system(type, source));
  }
}

const FileSystem& FileSystems::of(int file, uint64_t device) {
  const auto known = by_device_.find(device);
  if (known != by_device_.end()) return known->second;
  return by_device_.emplace(device, judge_file_system(type_by_number(file), "")).first->second;
}

namespace {

std::string name_of(const std::filesystem::path& process) {
  std::ifstream file(process / "comm");
  std::string name;
  std::getline(file, name);
  return fmt::format("{} ({})", name, process.filename().string());
}

void add_maps(const std::filesystem::path& process, std::map<FileNumber, std::string>& found) {
  std::ifstream maps(process / "maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned int major_number = 0, minor_number = 0;
    uint64_t inode = 0;
    if (std::sscanf(line.c_str(), "%*x-%*x %*s %*x %x:%x %" SCNu64, &major_number, &minor_number,
                    &inode) != 3 ||
        inode == 0) {
      continue;
    }
    const FileNumber number{makedev(major_number, minor_number), inode};
    if (!found.contains(number)) found.emplace(number, name_of(process));
  }
}

}  // namespace

std::map<FileNumber, std::string> mapped_files() {
  std::map<FileNumber, std::string> found;
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc", error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c) != 0; })) {
      add_maps(at->path(), found);
    }
  }
  return found;
}

}  // namespace stoker
