#include "io/checkpoint/sets/set_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <map>

#include "io/core/error.h"

namespace stoker {
namespace {

// What stands under a name among files. Empty: it is no set.
std::string state_of(const std::string& name) {
  if (name.find("step-") == std::string::npos) return "";
  if (is_garbage(name)) return "unfinished";
  return step_of(name) >= 0 ? "committed" : name.substr(0, name.find('-'));
}

}  // namespace

// O_DIRECT reads whole blocks, so that the end of the file, which is no whole block, comes through
// the page cache.
void SetFile::read_at(uint64_t offset, std::span<uint8_t> out, Uring* queue) const {
  if (objects_ != nullptr) {
    Buffer bytes;
    objects_->read(path_, bytes, {offset, out.size()});
    if (bytes.size() < out.size()) {
      throw IoError(fmt::format("read {}: it ends at {}, not at {}", full_, offset + bytes.size(),
                                offset + out.size()),
                    0);
    }
    if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size());
    return;
  }
  const size_t tail = file_->direct() ? out.size() % kDirectAlignment : 0;
  const size_t whole = out.size() - tail;
  if (whole > 0) file_->read_at(offset, out.first(whole), queue);
  if (tail == 0) return;
  tree_->open(path_, FileAccess::buffered).read_at(offset + whole, out.subspan(whole));
}

uint64_t SetFile::size() const {
  if (file_) return file_->size();
  for (const ObjectInfo& object : objects_->list(path_)) {
    if (object.key == path_) return object.bytes;
  }
  throw_errno("list", full_, ENOENT);
}

std::string SetFiles::full(const std::string& path) const {
  return tree_ != nullptr ? tree_->root() + "/" + path : name_ + ":" + path;
}

std::vector<SetEntry> SetFiles::entries(const std::string& directory) const {
  if (objects_ != nullptr) return sets_among(objects_->list(directory + "/step-"), directory);
  std::vector<SetEntry> sets;
  for (const std::string& name : tree_->list(directory)) {
    const std::string state = state_of(name);
    if (!state.empty()) sets.push_back({name, step_of(name), state});
  }
  return sets;
}

// Two processes that did not know of each other may have written a set of the same step each: the
// first one counts.
std::optional<std::string> SetFiles::find(const std::string& directory, int64_t step) const {
  std::string path = directory + "/" + set_name(step);
  if (tree_ != nullptr) return tree_->exists(path) ? std::optional(path) : std::nullopt;
  for (const SetEntry& set : sets_among(objects_->list(path + "-"), directory)) {
    if (set.step == step) return directory + "/" + set.name;
  }
  return std::nullopt;
}

bool SetFiles::exists(const std::string& path) const {
  if (tree_ != nullptr) return tree_->exists(path);
  return std::ranges::any_of(objects_->list(path), [&](const ObjectInfo& object) {
    return object.key == path || object.key.starts_with(path + "/");
  });
}

std::vector<std::string> SetFiles::list(const std::string& set) const {
  if (tree_ != nullptr) return tree_->list(set);
  std::vector<std::string> names;
  for (const ObjectInfo& object : objects_->list(set + "/")) {
    // A tier that has directories lists an empty one as its name alone.
    if (object.key.size() > set.size() + 1) names.push_back(object.key.substr(set.size() + 1));
  }
  return names;
}

std::vector<uint64_t> SetFiles::sizes(const std::string& set,
                                      const std::vector<std::string>& names) const {
  const std::string below = set + "/";
  std::vector<uint64_t> sizes;
  if (tree_ != nullptr) {
    for (const std::string& name : names) {
      sizes.push_back(tree_->open(below + name, FileAccess::buffered).size());
    }
    return sizes;
  }
  std::map<std::string, uint64_t> found;
  for (const ObjectInfo& object : objects_->list(below)) found[object.key] = object.bytes;
  for (const std::string& name : names) {
    const auto object = found.find(below + name);
    if (object == found.end()) throw_errno("list", full(below + name), ENOENT);
    sizes.push_back(object->second);
  }
  return sizes;
}

SetFile SetFiles::open(const std::string& path, FileAccess access) const {
  SetFile file;
  file.tree_ = tree_;
  file.objects_ = objects_;
  file.path_ = path;
  file.full_ = full(path);
  if (tree_ != nullptr) file.file_ = tree_->open(path, access);
  return file;
}

std::string SetFiles::read_text(const std::string& path, uint64_t limit) const {
  if (tree_ != nullptr) return tree_->read_text(path, limit);
  Buffer bytes;
  objects_->read(path, bytes, {0, limit + 1});
  if (bytes.size() > limit) {
    throw IoError(fmt::format("read {}: more than {} bytes", full(path), limit), 0);
  }
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace stoker
