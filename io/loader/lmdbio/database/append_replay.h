#pragma once

#include <cstdint>
#include <vector>

#include "io/loader/lmdbio/database/lmdb_page.h"
#include "io/loader/lmdbio/database/page_allocator.h"

namespace stoker {

// How a database was written: by one writer, into an empty file, in the order of its keys, nothing
// else. A value.
struct LmdbHistory {
  uint64_t page_bytes = 4096;
  int64_t records_per_transaction = 1000;
  // By puts with MDB_APPEND; without (Caffe's convert_imageset) a page that is full gives its last
  // entry to the next one.
  bool append = true;
};

// In bytes. A value.
struct LmdbRecordSizes {
  uint64_t key = 0;
  uint64_t value = 0;
};

// Where a value lies. A value.
struct LmdbPlace {
  uint64_t page = 0;     // the first of its own, or a leaf
  uint64_t in_page = 0;  // bytes of the page in front of it
  uint64_t pages = 0;    // of its own; 0: it lies in a leaf
  LmdbRecordSizes sizes;
  uint64_t offset(uint64_t page_bytes) const { return page * page_bytes + in_page; }
};

// Does what liblmdb does with pages while such a database is written, without the pages: the
// rightmost branches and the last leaf, how full they are, and the allocator. Pure; a value: a copy
// goes on from the same record; one thread. LmdbNotReplayed.
class AppendReplay {
 public:
  explicit AppendReplay(const LmdbHistory& history);

  // The next record. Appends to `placed` the places that are final now, in the order of records: a
  // leaf may move as long as it is the last one.
  void add(LmdbRecordSizes sizes, std::vector<LmdbPlace>& placed);
  // The end of the last transaction; the rest of the places. Last.
  void finish(std::vector<LmdbPlace>& placed);

  int64_t added() const { return static_cast<int64_t>(shape_.entries); }
  int64_t placed() const { return added() - static_cast<int64_t>(open_.size()); }
  // The meta of the file after finish().
  LmdbMeta meta() const;

 private:
  // A page of the rightmost path.
  struct Level {
    uint64_t page = 0;
    uint64_t left = 0;      // bytes without a use
    uint64_t last_key = 0;  // bytes of the last one; branches
    bool touched = false;   // in this transaction
  };
  void begin();
  void commit();
  void grow();
  void split_leaf(uint64_t key_bytes, std::vector<LmdbPlace>& placed);
  void put_into_leaf(LmdbPlace place);
  void add_child(size_t level, uint64_t key_bytes);
  void close_leaf(size_t count, std::vector<LmdbPlace>& placed);
  uint64_t room() const { return history_.page_bytes - kLmdbHeader; }

  LmdbHistory history_;
  LmdbPageAllocator pages_;
  LmdbShape shape_;
  std::vector<Level> levels_;    // from the root to the leaf
  std::vector<LmdbPlace> open_;  // of the last leaf
  uint64_t leaf_end_ = 0;        // where its free bytes end
  int64_t in_transaction_ = 0;
};

}  // namespace stoker
