#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/checkpoint/sets/set_names.h"
#include "io/storage/file_tree.h"
#include "io/storage/storage.h"

namespace stoker {

// A file of a set, for reading: one of a tree, or an object. Any thread. Must not outlive its tier.
class SetFile {
 public:
  // All of `out`; IoError, also where it ends before. `queue`: a file of a tree, by several
  // requests in flight.
  void read_at(uint64_t offset, std::span<uint8_t> out, Uring* queue = nullptr) const;
  // In bytes, now.
  uint64_t size() const;
  // Whether reads go past the page cache; then they begin at multiples of kDirectAlignment, in
  // memory and in the file.
  bool direct() const { return file_ && file_->direct(); }
  // As messages call it.
  const std::string& full() const { return full_; }

 private:
  friend class SetFiles;
  const FileTree* tree_ = nullptr;
  const Storage* objects_ = nullptr;
  std::string path_;
  std::string full_;
  std::optional<TreeFile> file_;
};

// Where sets are read: below a directory, or as objects of a tier without files. Paths are keys of
// the tier, such as "run/step-0000000020/state.safetensors". A value that refers to its tier, which
// must outlive it; any thread. Everything throws IoError.
class SetFiles {
 public:
  // Whoever reads sets of a tree needs nothing else.
  SetFiles(const FileTree& tree) : tree_(&tree) {}  // NOLINT(google-explicit-constructor)
  // `name` of the tier is for messages.
  SetFiles(const Storage& objects, std::string name) : objects_(&objects), name_(std::move(name)) {}

  // Null: they are objects.
  const FileTree* tree() const { return tree_; }
  // As messages call it: "/mnt/nvme/run/...", "bucket:run/...".
  std::string full(const std::string& path) const;

  // All sets of a directory, whatever has become of them, by name.
  std::vector<SetEntry> entries(const std::string& directory) const;
  // The name of the committed set of a step. Empty: there is no such set.
  std::optional<std::string> find(const std::string& directory, int64_t step) const;

  // Whether there is a file or a directory of that name.
  bool exists(const std::string& path) const;
  // Sorted names of the files of a set, and how many bytes these of them have.
  std::vector<std::string> list(const std::string& set) const;
  std::vector<uint64_t> sizes(const std::string& set, const std::vector<std::string>& names) const;
  // direct: past the page cache where possible.
  SetFile open(const std::string& path, FileAccess access) const;
  // A small file as a whole. One of more than `limit` bytes is refused, with no errno.
  std::string read_text(const std::string& path, uint64_t limit) const;

 private:
  const FileTree* tree_ = nullptr;
  const Storage* objects_ = nullptr;
  std::string name_;
};

}  // namespace stoker
