#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/storage/storage.h"

namespace stoker {

// The directories and files of a tier's listing, numbered as a file system does: the root is 1, and
// one listing always gives the same numbers. Immutable; any thread.
class MountTree {
 public:
  struct Entry {
    std::string name;  // bytes, as the kernel has it
    uint64_t number;
  };
  struct Node {
    bool directory = true;
    uint64_t parent = 1;
    uint64_t bytes = 0;               // size of a file
    std::string key = {};             // for a file: its object
    std::vector<Entry> entries = {};  // in a directory, sorted by name
  };

  // objects: a tier's list(""), sorted by key.
  explicit MountTree(const std::vector<ObjectInfo>& objects);

  // Null: there is no such number.
  const Node* node(uint64_t number) const {
    return number == 0 || number > nodes_.size() ? nullptr : &nodes_[number - 1];
  }
  // What a directory has under this name; 0: nothing.
  uint64_t find(uint64_t directory, std::string_view name) const;

  uint64_t files() const { return files_; }
  uint64_t bytes() const { return bytes_; }
  // Objects whose keys are no paths ("a//b", or "a" beside "a/b"): they are not in the tree.
  uint64_t left_out() const { return left_out_; }

 private:
  uint64_t add(uint64_t directory, std::string name, Node node);

  std::vector<Node> nodes_;
  uint64_t files_ = 0;
  uint64_t bytes_ = 0;
  uint64_t left_out_ = 0;
};

}  // namespace stoker
