#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "io/core/system/file.h"

namespace stoker {

// A file that was opened for reading, and its size in bytes then. Owns the descriptor. Whoever
// makes one without FileObjects vouches for what it says.
struct ObjectFile {
  std::string path;
  FileDescriptor file;
  uint64_t size = 0;
  bool direct = false;  // reads go past the page cache
};

// Files that stay open, because they are read part by part: those that were asked for last. Any
// thread; who got one may use it as long as it likes.
class OpenFiles {
 public:
  // The file of that key, where it is kept and still what it was: neither replaced, removed, cut
  // nor grown since. Null: open it.
  std::shared_ptr<const ObjectFile> find(const std::string& key);
  // In the place of an older one, and of the one that was asked for longest ago.
  void keep(const std::string& key, std::shared_ptr<const ObjectFile> file);
  void clear();

 private:
  static constexpr size_t kMost = 64;
  using Entry = std::pair<std::string, std::shared_ptr<const ObjectFile>>;

  std::mutex mutex_;
  std::list<Entry> files_;  // the newest first
};

}  // namespace stoker
