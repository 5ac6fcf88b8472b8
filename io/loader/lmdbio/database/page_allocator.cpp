#include "io/loader/lmdbio/database/page_allocator.h"

#include <algorithm>
#include <utility>

// The argument, by mdb.c of 0.9.24:
// 1. mdb_page_alloc looks for a run of pages among those that were read from the list of free pages
//    in this transaction; if it finds no run, it reads the next record of the list, provided that
//    it belongs to the transaction before the last one or an older one; if there is no such record,
//    it takes new pages.
// 2. mdb_page_touch copies a page of an earlier transaction: takes one, then frees the old one.
// 3. mdb_freelist_save, at commit: the list's own page is touched first if records were read; these
//    are deleted; the pages that this transaction freed become its record, again if writing that
//    has freed another; what was read and not used becomes the record of the last one that was
//    read. This is done until nothing changes any more.

namespace stoker {
namespace {

constexpr uint64_t kMostAllocated = uint64_t{1} << 48;
// Above this many, liblmdb may stop looking (`retry`).
constexpr size_t kMostRecords = 50;

// Bytes of a record in a leaf: slot, header of the node, a key and a count of 8 bytes each.
constexpr uint64_t record_bytes(uint64_t room) { return 2 + 8 + 8 + 8 * (room + 1); }

}  // namespace

void LmdbPageAllocator::begin() {
  ++transaction_;
  reusable_.clear();
  fetched_ = 0;
  freed_.clear();
  saved_ = 0;
  tree_touched_ = false;
}

uint64_t LmdbPageAllocator::take(uint64_t count) {
  do {
    if (const auto page = take_reusable(count)) return *page;
  } while (fetch());
  const uint64_t page = next_;
  if (count > kMostAllocated - page) throw LmdbNotReplayed("it would have too many pages");
  next_ += count;
  return page;
}

std::optional<uint64_t> LmdbPageAllocator::take_reusable(uint64_t count) {
  if (reusable_.size() < count) return std::nullopt;
  for (auto first = reusable_.begin(); reusable_.end() - first >= static_cast<int64_t>(count);
       ++first) {
    const auto last = first + static_cast<int64_t>(count) - 1;
    const uint64_t page = *first;
    if (*last != page + count - 1) continue;
    reusable_.erase(first, last + 1);
    return page;
  }
  return std::nullopt;
}

bool LmdbPageAllocator::fetch() {
  const auto next = std::ranges::find_if(
      records_, [&](const Record& record) { return record.transaction > fetched_; });
  if (next == records_.end() || next->transaction + 1 >= transaction_) return false;
  fetched_ = next->transaction;
  reusable_.insert(reusable_.end(), next->pages.begin(), next->pages.end());
  std::ranges::sort(reusable_);
  return true;
}

void LmdbPageAllocator::touch_tree() {
  if (tree_.depth == 0 || tree_touched_) return;
  const uint64_t page = take(1);
  freed_.push_back(tree_.root);
  tree_.root = page;
  tree_touched_ = true;
}

void LmdbPageAllocator::put(uint64_t transaction, uint64_t room) {
  if (tree_.depth == 0) {
    tree_.root = take(1);
    tree_.depth = tree_.leaf_pages = 1;
    tree_touched_ = true;
  }
  touch_tree();
  auto at = std::ranges::lower_bound(records_, transaction, {}, &Record::transaction);
  if (at == records_.end() || at->transaction != transaction) {
    at = records_.insert(at, {transaction});
  }
  at->room = room;
  uint64_t used = 0;
  for (const Record& record : records_) used += record_bytes(record.room);
  const uint64_t most_inline = (page_bytes_ - kLmdbHeader) / 2 - 2;
  if (used > page_bytes_ - kLmdbHeader || record_bytes(room) - 2 > most_inline ||
      records_.size() > kMostRecords) {
    throw LmdbNotReplayed("its list of free pages would have more than a page");
  }
}

void LmdbPageAllocator::remove_fetched(uint64_t& removed) {
  touch_tree();
  removed = records_.front().transaction;
  records_.erase(records_.begin());
  if (records_.empty()) throw LmdbNotReplayed("its list of free pages would become empty");
}

void LmdbPageAllocator::save_freed() {
  if (saved_ == 0) touch_tree();
  do {
    saved_ = freed_.size();
    put(transaction_, saved_);
  } while (saved_ < freed_.size());
}

void LmdbPageAllocator::commit() {
  if (fetched_ != 0) touch_tree();
  uint64_t removed = 0;
  uint64_t room = 0;  // for what was fetched and not used, in the record `removed`
  bool once_more = true;
  for (;;) {
    while (removed < fetched_) {
      remove_fetched(removed);
      room = 0;
    }
    if (saved_ < freed_.size()) {
      save_freed();
      continue;
    }
    if (room == reusable_.size()) break;
    if (room > reusable_.size() && !std::exchange(once_more, false)) break;
    room = reusable_.size();
    put(removed, room);
  }
  for (Record& record : records_) {
    if (record.transaction == removed) record = {removed, reusable_.size(), reusable_};
    if (record.transaction == transaction_) record.pages = freed_;
  }
  tree_.entries = records_.size();
}

}  // namespace stoker
