#include "io/dataset/files/tier_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "io/core/config/suggestion.h"
#include "io/core/error.h"
#include "io/storage/keys.h"

namespace stoker {
namespace {

// The folders in the nearest folder above this one that has some.
std::vector<std::string> folders_nearby(const Storage& tier, std::string folder) {
  for (;;) {
    const size_t slash = folder.rfind('/');
    folder.resize(slash == folder.npos ? 0 : slash);
    const std::string prefix = folder.empty() ? "" : folder + "/";
    std::vector<std::string> folders;
    for (const ObjectInfo& object : tier.list(prefix)) {
      add_first_folder(std::string_view(object.key).substr(prefix.size()), folders);
    }
    std::erase_if(folders, [](const std::string& name) { return is_system_folder(name); });
    for (std::string& name : folders) name.insert(0, prefix);
    if (!folders.empty() || folder.empty()) return folders;
  }
}

}  // namespace

void add_first_folder(std::string_view path, std::vector<std::string>& folders) {
  const size_t slash = path.find('/');
  if (slash == path.npos) return;
  const std::string_view name = path.substr(0, slash);
  if (folders.empty() || folders.back() != name) folders.emplace_back(name);
}

std::string TierFolder::text() const {
  return (folder.empty() ? "" : "folder '" + folder + "' of ") + "tier '" + tier_name + "'";
}

void TierFolder::fail_absent() const {
  throw Error(ExitCode::environment,
              fmt::format("dataset: there is no folder '{}' in tier '{}'{}: set dataset.{}", folder,
                          tier_name, what_is_there(folder, folders_nearby(tier, folder)), option));
}

FilePerSample::FilePerSample(const Storage& tier, uint64_t max_bytes)
    : tier_(tier), max_bytes_(std::min(max_bytes, UINT64_MAX - 1)) {}

Bytes FilePerSample::read(const std::string& key, uint64_t bytes, Buffer& scratch) const {
  tier_.read(key, scratch, request(key, bytes).range);
  const bool changed = scratch.size() != bytes && scratch.size() <= max_bytes_;
  if (changed) tier_.read(key, scratch, {0, max_bytes_ + 1});
  if (scratch.size() <= max_bytes_) return scratch.bytes();
  throw BadSample(BadReason::too_large, fmt::format("the file has more than {} bytes "
                                                    "(dataset.max_file_bytes)",
                                                    max_bytes_));
}

ObjectRange FilePerSample::request(const std::string& key, uint64_t bytes) const {
  return {key, {0, std::min(bytes, max_bytes_) + 1}};
}

}  // namespace stoker
