#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "io/loader/lmdbio/mapped_cursor.h"
#include "tests/fuzz/inputs/lmdb_pages.h"
#include "tests/fuzz/target.h"

// A database in memory is walked by a cursor of pointers, and one that another process might have
// sent: u8 how many bytes of it there are, u16 page and u8 entry for each level; then the pages.
// Every value lies in the map.
STOKER_FUZZ_TARGET(mapped_tree) {
  using namespace stoker;
  if (input.empty()) return;
  const Bytes sent = input.subspan(1).first(std::min<size_t>(input[0], input.size() - 1));
  const std::string file = unfolded_lmdb(input.subspan(1 + sent.size()));
  const Bytes map{reinterpret_cast<const uint8_t*>(file.data()), file.size()};
  const std::optional<LmdbMeta> meta = newest_lmdb_meta(map);
  if (!meta) return;
  const MappedTree tree(map, *meta);
  const auto most = static_cast<int64_t>(std::min<uint64_t>(meta->entries, 1000));
  const auto walk = [&](MappedCursor cursor) {
    tree.advance(cursor, most, [&](Bytes value) {
      fuzz::require(value.data() >= map.data() && value.size() <= map.size() &&
                        value.data() + value.size() <= map.data() + map.size(),
                    "a value that lies outside");
    });
  };
  try {
    walk(tree.first());
  } catch (const LmdbDamage&) {
  }
  MappedCursor cursor;
  for (size_t at = 0; at + 3 <= sent.size() && cursor.depth < MappedCursor::kMostDepth; at += 3) {
    const uint64_t page = sent[at] + uint64_t{sent[at + 1]} * 256;
    cursor.stack[cursor.depth++] = {
        reinterpret_cast<const uint8_t*>(reinterpret_cast<uintptr_t>(map.data()) + page * 512),
        sent[at + 2]};
  }
  try {
    tree.check(cursor);
    walk(cursor);
  } catch (const LmdbDamage&) {
  }
}
