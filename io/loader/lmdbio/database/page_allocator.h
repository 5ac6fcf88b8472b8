#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <vector>

#include "io/loader/lmdbio/database/lmdb_page.h"

namespace stoker {

// A history of a kind that is not replayed. what(): a reason, in words that stand for themselves.
class LmdbNotReplayed final : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Which pages liblmdb (0.9.24) hands out to one writer that nobody reads beside: pages that came
// free two transactions before or earlier, lowest first, else new ones at the end. It lists free
// pages in a tree of its own, which takes pages as well; only a tree of one leaf is replayed, which
// has room for what appending frees. Pure; a value; one thread. LmdbNotReplayed.
class LmdbPageAllocator {
 public:
  explicit LmdbPageAllocator(uint64_t page_bytes) : page_bytes_(page_bytes) {}

  // The next transaction; take() and release() belong to one.
  void begin();
  // Takes `count` pages that lie one behind the other, and returns the first.
  uint64_t take(uint64_t count);
  // A page of an earlier transaction is free from this one on.
  void release(uint64_t page) { freed_.push_back(page); }
  void commit();

  uint64_t transaction() const { return transaction_; }
  uint64_t last_page() const { return next_ - 1; }
  // The tree that lists free pages.
  const LmdbShape& tree() const { return tree_; }

 private:
  // An entry of that tree: pages that a transaction freed, or what is left of those that were read.
  struct Record {
    uint64_t transaction = 0;
    uint64_t room = 0;  // the number of pages that fit
    std::vector<uint64_t> pages = {};
  };
  std::optional<uint64_t> take_reusable(uint64_t count);
  bool fetch();
  void touch_tree();
  void remove_fetched(uint64_t& removed);
  void save_freed();
  void put(uint64_t transaction, uint64_t room);

  uint64_t page_bytes_;
  uint64_t next_ = 2;
  uint64_t transaction_ = 0;
  LmdbShape tree_;
  std::vector<Record> records_;  // in the order of their transactions
  // For the open transaction: the pages that are free for it, in ascending order; the last record
  // that they came from (0: no record was read); the pages that it has freed.
  std::vector<uint64_t> reusable_;
  uint64_t fetched_ = 0;
  std::vector<uint64_t> freed_;
  uint64_t saved_ = 0;
  bool tree_touched_ = false;
};

}  // namespace stoker
