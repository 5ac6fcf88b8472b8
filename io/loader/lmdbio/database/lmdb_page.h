#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>

#include "io/core/system/memory.h"

// The pages of an LMDB database (liblmdb 0.9, version 1 of its format) as they lie in the file, all
// numbers little-endian. Functions of bytes that nobody has to trust; any thread.
//
//   page    number u64 | pad u16 | flags u16 | lower u16 | upper u16 | offsets of nodes u16... |
//           free | nodes
//   node    a u16 | b u16 | flags u16 | bytes of the key u16 | key | value
//           leaf: bytes of the value = a + (b << 16); flag 1: its value lies on pages of its own,
//           and in its place is the number of the first. branch: child = a + (b << 16) +
//           (flags << 32), no value
//   meta    pages 0 and 1; the one with the later transaction counts

namespace stoker {

constexpr uint64_t kLmdbHeader = 16;
// What has to be read to find both metas: the largest page, and a meta behind it.
constexpr uint64_t kLmdbMostPageBytes = 32768;
constexpr uint64_t kLmdbMetaBytes = kLmdbHeader + 136;

// The pages of a tree. A value.
struct LmdbShape {
  // Levels; the last one are leaves. 0: it is empty.
  uint64_t depth = 0;
  uint64_t branch_pages = 0;
  uint64_t leaf_pages = 0;
  uint64_t overflow_pages = 0;
  uint64_t entries = 0;
  // The root of the tree, if that is not empty.
  uint64_t root = 0;
  bool operator==(const LmdbShape&) const = default;
};

// The main database as a transaction left it. A value.
struct LmdbMeta {
  uint64_t transaction = 0;
  uint64_t page_bytes = 0;
  // The highest page in use. The file may end earlier: free pages at its end are not written.
  uint64_t last_page = 0;
  // MDB_DUPSORT and its like; 0: none.
  uint16_t flags = 0;
  // Levels of the tree; the last one are leaves. 0: it is empty, and has no root.
  uint64_t depth = 0;
  uint64_t root = 0;
  uint64_t entries = 0;
  // What it says of the main database, and of the one in which free pages are listed; nobody has
  // checked it.
  LmdbShape main;
  LmdbShape free;
};

// The meta that counts among those in a file's first kLmdbMostPageBytes + kLmdbMetaBytes bytes, or
// as many as it has. A meta that was written half does not count. Nothing: the file has no valid
// meta.
std::optional<LmdbMeta> newest_lmdb_meta(Bytes first);

// An entry of a page. A value that points into it.
struct LmdbNode {
  uint16_t flags = 0;
  Bytes key;
  uint64_t child = 0;     // branch: a page
  uint64_t bytes = 0;     // leaf: the size of the value
  uint64_t overflow = 0;  // leaf: the first page of the value; 0: it lies in this page
  uint64_t offset = 0;    // leaf: where the value lies in this page
  static constexpr uint16_t kOverflow = 1;
  static constexpr uint16_t kDatabase = 2;
  static constexpr uint16_t kDuplicates = 4;
};

// Something in a page lies outside of it. what() names the page, and not the file.
class LmdbDamage final : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A branch or a leaf. A value that points to the bytes of the page. Everything throws LmdbDamage.
class LmdbPage {
 public:
  LmdbPage(Bytes page, uint64_t number);
  bool leaf() const { return leaf_; }
  // The number of its nodes; at least 1.
  size_t size() const { return size_; }
  // index: below size().
  LmdbNode node(size_t index) const;

 private:
  [[noreturn]] void damaged(const char* what) const;

  Bytes page_;
  uint64_t number_;
  bool leaf_ = false;
  size_t size_ = 0;
};

// How many pages a value of `bytes` bytes has, if it has pages of its own. They lie one after the
// other, and the value begins kLmdbHeader behind the begin of the first.
constexpr uint64_t lmdb_overflow_pages(uint64_t bytes, uint64_t page_bytes) {
  return (kLmdbHeader - 1 + bytes) / page_bytes + 1;
}

}  // namespace stoker
