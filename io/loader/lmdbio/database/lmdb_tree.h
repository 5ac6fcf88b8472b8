#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "io/core/system/memory.h"
#include "io/loader/lmdbio/database/lmdb_page.h"
#include "io/storage/storage.h"

namespace stoker {

// An entry of the database, and where its value lies in the file: in one piece, wherever. Points
// into memory of the walk.
struct LmdbEntry {
  Bytes key;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  // The value, where it came with its page; it is there if `here`.
  Bytes value = {};
  bool here = false;
};

// The main database of an LMDB file that a tier holds, read page by page. One thread; the tier must
// outlive it. Everything throws IoError, and Error(ExitCode::data), which names the object: for
// what is damaged or cut, and for what is not read here: named databases and duplicates.
class LmdbTree {
 public:
  // Reads the metas.
  LmdbTree(const Storage& tier, const ObjectInfo& object);

  const LmdbMeta& meta() const { return meta_; }
  // Its leaf pages in the order of their keys. Reads the branches, level by level: so it knows of
  // many pages that it wants, and reads them together.
  std::vector<uint64_t> leaves();
  // The entries of the first leaf, valid until the next call. Reads one page of each level. Once,
  // and no walk() behind it.
  std::vector<LmdbEntry> first_leaf();
  // All entries in the order of their keys, leaf by leaf; `take` gets those of some hundred leaves
  // at a time, which are valid until it returns. Reads the branches and leaves once, and no value
  // that lies on pages of its own. Once.
  void walk(const std::function<void(std::span<const LmdbEntry>)>& take);

 private:
  void read_pages(std::span<const uint64_t> pages);
  // A page of those that were read last.
  LmdbPage page(size_t place, uint64_t number, bool leaf) const;
  void add_children(std::span<const uint64_t> branches, std::vector<uint64_t>& children);
  void add_entries(std::span<const uint64_t> leaves, std::vector<LmdbEntry>& entries);
  LmdbEntry entry(const LmdbNode& node, uint64_t page);
  // These pages are in use: once, and inside the file.
  void visit(uint64_t first, uint64_t count);
  [[noreturn]] void damaged(const std::string& what) const;
  // The pages up to `last` are in use, and not all in the file.
  [[noreturn]] void cut(uint64_t last) const;
  [[noreturn]] void not_read(const std::string& what) const;

  const Storage& tier_;
  const ObjectInfo object_;
  LmdbMeta meta_;
  Buffer pages_;
  std::vector<bool> visited_;
};

}  // namespace stoker
