#include "io/loader/lmdbio/database/lmdb_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "io/core/error.h"
#include "io/core/text/text.h"
#include "io/loader/lmdbio/database/read_parts.h"

namespace stoker {
namespace {

// Pages that are in memory at a time: 2 MiB of the usual ones.
constexpr size_t kWindow = 512;

}  // namespace

LmdbTree::LmdbTree(const Storage& tier, const ObjectInfo& object) : tier_(tier), object_(object) {
  Buffer first;
  const uint64_t most = kLmdbMostPageBytes + kLmdbMetaBytes;
  tier.read(object.key, first, {0, std::min(object.bytes, most)});
  const auto meta = newest_lmdb_meta(first.bytes());
  if (!meta) damaged("it has no valid meta page");
  meta_ = *meta;
  if (object.bytes < 2 * meta_.page_bytes) cut(1);
  if (meta_.flags != 0) {
    not_read("its keys have several values or are no bytes (MDB_DUPSORT, MDB_INTEGERKEY...)");
  }
  visited_.resize(std::min(object.bytes / meta_.page_bytes, meta_.last_page + 1));
}

std::vector<uint64_t> LmdbTree::leaves() {
  std::vector<uint64_t> level;
  if (meta_.depth == 0) return level;
  level.push_back(meta_.root);
  visit(meta_.root, 1);
  for (uint64_t depth = 1; depth < meta_.depth; ++depth) {
    std::vector<uint64_t> below;
    for (size_t begin = 0; begin < level.size(); begin += kWindow) {
      const size_t count = std::min(kWindow, level.size() - begin);
      add_children(std::span(level).subspan(begin, count), below);
    }
    level = std::move(below);
  }
  return level;
}

std::vector<LmdbEntry> LmdbTree::first_leaf() {
  std::vector<LmdbEntry> entries;
  if (meta_.depth == 0) return entries;
  uint64_t page = meta_.root;
  visit(page, 1);
  for (uint64_t depth = 1; depth < meta_.depth; ++depth) {
    std::vector<uint64_t> below;
    add_children({&page, 1}, below);
    page = below.front();
  }
  add_entries({&page, 1}, entries);
  return entries;
}

void LmdbTree::walk(const std::function<void(std::span<const LmdbEntry>)>& take) {
  const std::vector<uint64_t> all = leaves();
  std::vector<LmdbEntry> entries;
  uint64_t count = 0;
  for (size_t begin = 0; begin < all.size(); begin += kWindow) {
    entries.clear();
    add_entries(std::span(all).subspan(begin, std::min(kWindow, all.size() - begin)), entries);
    count += entries.size();
    take(entries);
  }
  if (count != meta_.entries) {
    damaged(fmt::format("it has {} entries, and says {}", count, meta_.entries));
  }
}

void LmdbTree::read_pages(std::span<const uint64_t> pages) {
  const uint64_t bytes = meta_.page_bytes;
  std::vector<Range> parts;
  for (const uint64_t page : pages) parts.push_back({page * bytes, bytes});
  uint8_t* const out = pages_.resize(pages.size() * bytes);
  read_parts(tier_, object_, parts,
             [&](size_t part, Bytes page) { std::memcpy(out + part * bytes, page.data(), bytes); });
}

LmdbPage LmdbTree::page(size_t place, uint64_t number, bool leaf) const {
  const uint64_t bytes = meta_.page_bytes;
  const LmdbPage page(pages_.bytes().subspan(place * bytes, bytes), number);
  if (page.leaf() != leaf) {
    throw LmdbDamage(fmt::format("page {} is {}", number, leaf ? "no leaf" : "no branch"));
  }
  return page;
}

void LmdbTree::add_children(std::span<const uint64_t> branches, std::vector<uint64_t>& children) {
  read_pages(branches);
  try {
    for (size_t place = 0; place < branches.size(); ++place) {
      const LmdbPage branch = page(place, branches[place], false);
      for (size_t i = 0; i < branch.size(); ++i) {
        children.push_back(branch.node(i).child);
        visit(children.back(), 1);
      }
    }
  } catch (const LmdbDamage& damage) {
    damaged(damage.what());
  }
}

void LmdbTree::add_entries(std::span<const uint64_t> leaves, std::vector<LmdbEntry>& entries) {
  read_pages(leaves);
  try {
    for (size_t place = 0; place < leaves.size(); ++place) {
      const LmdbPage leaf = page(place, leaves[place], true);
      for (size_t i = 0; i < leaf.size(); ++i) {
        LmdbEntry& added = entries.emplace_back(entry(leaf.node(i), leaves[place]));
        if (!added.here) continue;
        const uint64_t in_page = added.offset - leaves[place] * meta_.page_bytes;
        added.value = pages_.bytes().subspan(place * meta_.page_bytes + in_page, added.bytes);
      }
    }
  } catch (const LmdbDamage& damage) {
    damaged(damage.what());
  }
}

LmdbEntry LmdbTree::entry(const LmdbNode& node, uint64_t page) {
  const auto name = [&] {
    return to_text({reinterpret_cast<const char*>(node.key.data()), node.key.size()});
  };
  if ((node.flags & LmdbNode::kDuplicates) != 0) {
    not_read(fmt::format("key '{}' has several values (MDB_DUPSORT)", name()));
  }
  if (node.flags == LmdbNode::kDatabase) {
    not_read(fmt::format("it has databases with names ('{}')", name()));
  }
  if ((node.flags & ~LmdbNode::kOverflow) != 0) {
    throw LmdbDamage(fmt::format("page {} has an entry of no known kind", page));
  }
  if (node.overflow == 0) {
    return {node.key, page * meta_.page_bytes + node.offset, node.bytes, {}, true};
  }
  visit(node.overflow, lmdb_overflow_pages(node.bytes, meta_.page_bytes));
  return {node.key, node.overflow * meta_.page_bytes + kLmdbHeader, node.bytes};
}

void LmdbTree::visit(uint64_t first, uint64_t count) {
  if (first < 2 || first > meta_.last_page || count - 1 > meta_.last_page - first) {
    damaged(fmt::format("page {} is none", first));
  }
  if (first + count > visited_.size()) cut(first + count - 1);
  for (uint64_t page = first; page < first + count; ++page) {
    if (visited_[page]) damaged(fmt::format("page {} is used twice", page));
    visited_[page] = true;
  }
}

void LmdbTree::damaged(const std::string& what) const {
  throw Error(ExitCode::data,
              fmt::format("dataset: shard {} is no LMDB database, or a damaged one ({}): make it "
                          "anew, or take it out of the pattern",
                          object_.key, what));
}

void LmdbTree::cut(uint64_t last) const {
  throw Error(ExitCode::data,
              fmt::format("dataset: shard {} was cut: it has {} bytes, and its pages up to {} are "
                          "{}: copy it anew, or take it out of the pattern",
                          object_.key, object_.bytes, last, (last + 1) * meta_.page_bytes));
}

void LmdbTree::not_read(const std::string& what) const {
  throw Error(ExitCode::data,
              fmt::format("dataset: shard {} can't be used, for {}: copy its samples into the main "
                          "database of a file, one value a key",
                          object_.key, what));
}

}  // namespace stoker
