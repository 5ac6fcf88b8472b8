#include "io/loader/lmdbio/mapped_cursor.h"

#include <algorithm>
#include <type_traits>

namespace stoker {

static_assert(std::is_trivially_copyable_v<MappedCursor>);

LmdbPage MappedTree::page(const uint8_t* at, uint64_t level) const {
  const auto offset = static_cast<uint64_t>(at - map_.data());
  const LmdbPage page(map_.subspan(offset, meta_.page_bytes), offset / meta_.page_bytes);
  if (page.leaf() != (level + 1 == meta_.depth)) {
    throw LmdbDamage("a page is of another level than before");
  }
  return page;
}

Bytes MappedTree::value(const uint8_t* page, const LmdbNode& node) const {
  uint64_t offset = static_cast<uint64_t>(page - map_.data()) + node.offset;
  if (node.overflow != 0) {
    if (node.overflow >= map_.size() / meta_.page_bytes) {
      throw LmdbDamage("a value lies behind the end");
    }
    offset = node.overflow * meta_.page_bytes + kLmdbHeader;
  }
  if (offset > map_.size() || node.bytes > map_.size() - offset) {
    throw LmdbDamage("a value lies behind the end");
  }
  return map_.subspan(offset, node.bytes);
}

void MappedTree::descend(MappedCursor& cursor) const {
  while (cursor.depth < meta_.depth) {
    const MappedCursor::Level& above = cursor.stack[cursor.depth - 1];
    const uint64_t child = page(above.page, cursor.depth - 1).node(above.index).child;
    if (child >= map_.size() / meta_.page_bytes) throw LmdbDamage("a page lies behind the end");
    cursor.stack[cursor.depth++] = {map_.data() + child * meta_.page_bytes, 0};
  }
}

MappedCursor MappedTree::first() const {
  MappedCursor cursor;
  if (meta_.depth == 0) return cursor;
  if (meta_.root >= map_.size() / meta_.page_bytes)
    throw LmdbDamage("the root lies behind the end");
  cursor.stack[cursor.depth++] = {map_.data() + meta_.root * meta_.page_bytes, 0};
  descend(cursor);
  return cursor;
}

void MappedTree::next_leaf(MappedCursor& cursor) const {
  while (--cursor.depth > 0) {
    MappedCursor::Level& level = cursor.stack[cursor.depth - 1];
    if (++level.index < page(level.page, cursor.depth - 1).size()) return descend(cursor);
  }
}

void MappedTree::advance(MappedCursor& cursor, int64_t records,
                         const std::function<void(Bytes)>& take) const {
  while (records > 0) {
    if (cursor.depth == 0) throw LmdbDamage("there are fewer records than before");
    MappedCursor::Level& level = cursor.stack[cursor.depth - 1];
    const LmdbPage leaf = page(level.page, cursor.depth - 1);
    if (level.index >= leaf.size()) throw LmdbDamage("a page has fewer entries than before");
    const auto here = std::min(leaf.size() - level.index, static_cast<uint64_t>(records));
    for (uint64_t i = 0; take && i < here; ++i) {
      take(value(level.page, leaf.node(level.index + i)));
    }
    level.index += here;
    cursor.record += static_cast<int64_t>(here);
    records -= static_cast<int64_t>(here);
    if (level.index == leaf.size()) next_leaf(cursor);
  }
}

void MappedTree::check(const MappedCursor& cursor) const {
  if (cursor.depth == 0) return;
  if (cursor.depth != meta_.depth || cursor.depth > MappedCursor::kMostDepth) {
    throw LmdbDamage("a cursor has another depth than the tree");
  }
  for (uint64_t i = 0; i < cursor.depth; ++i) {
    const MappedCursor::Level& level = cursor.stack[i];
    const uint64_t offset =
        reinterpret_cast<uintptr_t>(level.page) - reinterpret_cast<uintptr_t>(map_.data());
    if (offset % meta_.page_bytes != 0 ||
        offset / meta_.page_bytes >= map_.size() / meta_.page_bytes) {
      throw LmdbDamage("a cursor points to no page");
    }
    if (level.index >= page(level.page, i).size()) throw LmdbDamage("a cursor points to no entry");
  }
}

}  // namespace stoker
