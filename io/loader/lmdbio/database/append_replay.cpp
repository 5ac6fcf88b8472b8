#include "io/loader/lmdbio/database/append_replay.h"

namespace stoker {
namespace {

constexpr uint64_t kNode = 8;  // its header
constexpr uint64_t kSlot = 2;
constexpr uint64_t kNumber = 8;
constexpr uint64_t kMostKeyBytes = 511;
constexpr uint64_t kMostValueBytes = 0xffffffff;

constexpr uint64_t even(uint64_t bytes) { return bytes + bytes % 2; }

// The first child of a branch has no key.
constexpr uint64_t kFirstChild = kNode + kSlot;
constexpr uint64_t child_bytes(uint64_t key) { return even(kNode + key) + kSlot; }

uint64_t leaf_bytes(const LmdbPlace& place) {
  const uint64_t value = place.pages == 0 ? place.sizes.value : kNumber;
  return even(kNode + place.sizes.key + value) + kSlot;
}

}  // namespace

AppendReplay::AppendReplay(const LmdbHistory& history)
    : history_(history), pages_(history.page_bytes) {}

void AppendReplay::add(LmdbRecordSizes sizes, std::vector<LmdbPlace>& placed) {
  if (sizes.key < 1 || sizes.key > kMostKeyBytes || sizes.value > kMostValueBytes) {
    throw LmdbNotReplayed("a key or a value has a size that liblmdb doesn't take");
  }
  begin();
  LmdbPlace place;
  place.sizes = sizes;
  // Two entries must fit into a page.
  const uint64_t most_inline = room() / 2 / 2 * 2 - kSlot;
  if (kNode + sizes.key + sizes.value > most_inline) {
    place.pages = lmdb_overflow_pages(sizes.value, history_.page_bytes);
  }
  if (levels_.back().left < leaf_bytes(place)) split_leaf(sizes.key, placed);
  if (place.pages != 0) {
    place.page = pages_.take(place.pages);
    shape_.overflow_pages += place.pages;
  }
  put_into_leaf(place);
  ++shape_.entries;
  if (++in_transaction_ == history_.records_per_transaction) commit();
}

void AppendReplay::finish(std::vector<LmdbPlace>& placed) {
  if (in_transaction_ != 0) commit();
  close_leaf(open_.size(), placed);
}

LmdbMeta AppendReplay::meta() const {
  LmdbMeta meta;
  meta.transaction = pages_.transaction();
  meta.page_bytes = history_.page_bytes;
  meta.last_page = pages_.last_page();
  meta.main = shape_;
  meta.main.depth = levels_.size();
  meta.main.root = levels_.empty() ? 0 : levels_.front().page;
  meta.free = pages_.tree();
  meta.depth = meta.main.depth;
  meta.root = meta.main.root;
  meta.entries = meta.main.entries;
  return meta;
}

// A transaction begins with its first record, which copies the pages from the root to the leaf.
void AppendReplay::begin() {
  if (in_transaction_ != 0) return;
  pages_.begin();
  if (levels_.empty()) {
    levels_.push_back({pages_.take(1), room(), 0, true});
    leaf_end_ = history_.page_bytes;
    shape_.leaf_pages = 1;
  }
  for (Level& level : levels_) {
    if (level.touched) continue;
    const uint64_t page = pages_.take(1);
    pages_.release(level.page);
    level.page = page;
    level.touched = true;
  }
}

void AppendReplay::commit() {
  pages_.commit();
  for (Level& level : levels_) level.touched = false;
  in_transaction_ = 0;
}

// A root above the one that has become full.
void AppendReplay::grow() {
  levels_.insert(levels_.begin(), {pages_.take(1), room() - kFirstChild, 0, true});
  ++shape_.branch_pages;
}

void AppendReplay::split_leaf(uint64_t key_bytes, std::vector<LmdbPlace>& placed) {
  const uint64_t page = pages_.take(1);
  ++shape_.leaf_pages;
  if (levels_.size() == 1) grow();
  const LmdbPlace last = open_.back();
  add_child(levels_.size() - 2, history_.append ? key_bytes : last.sizes.key);
  close_leaf(open_.size() - (history_.append ? 0 : 1), placed);
  levels_.back() = {page, room(), 0, true};
  leaf_end_ = history_.page_bytes;
  if (history_.append) return;
  open_.clear();
  put_into_leaf(last);
}

void AppendReplay::put_into_leaf(LmdbPlace place) {
  const uint64_t bytes = leaf_bytes(place);
  levels_.back().left -= bytes;
  leaf_end_ -= bytes - kSlot;
  place.in_page = place.pages == 0 ? leaf_end_ + kNode + place.sizes.key : kLmdbHeader;
  open_.push_back(place);
}

// A branch that is full gives its last child to the new one: it is split as without MDB_APPEND.
void AppendReplay::add_child(size_t level, uint64_t key_bytes) {
  const uint64_t bytes = child_bytes(key_bytes);
  if (levels_[level].left >= bytes) {
    levels_[level].left -= bytes;
    levels_[level].last_key = key_bytes;
    return;
  }
  const uint64_t page = pages_.take(1);
  ++shape_.branch_pages;
  const uint64_t separator = levels_[level].last_key;
  if (level == 0) {
    grow();
    ++level;
  }
  const size_t depth = levels_.size();
  add_child(level - 1, separator);
  level += levels_.size() - depth;
  levels_[level] = {page, room() - kFirstChild - bytes, key_bytes, true};
}

void AppendReplay::close_leaf(size_t count, std::vector<LmdbPlace>& placed) {
  for (size_t i = 0; i < count; ++i) {
    LmdbPlace& place = open_[i];
    if (place.pages == 0) place.page = levels_.back().page;
    placed.push_back(place);
  }
  open_.erase(open_.begin(), open_.begin() + static_cast<int64_t>(count));
}

}  // namespace stoker
