#include "io/loader/lmdbio/mapped_cursor.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "io/core/random.h"
#include "tests/support/lmdb_database.h"

namespace stoker {
namespace {

// A file as a tree that need not be valid.
struct TreeInMemory {
  explicit TreeInMemory(std::string bytes) : file(std::move(bytes)) {}
  Bytes map() const { return {reinterpret_cast<const uint8_t*>(file.data()), file.size()}; }
  MappedTree tree() const { return {map(), *newest_lmdb_meta(map())}; }
  std::string file;
};

TreeInMemory of_sizes(int64_t count, size_t most_bytes) {
  LmdbDatabase database;
  LmdbEntries entries;
  Random random(3);
  for (int64_t i = 0; i < count; ++i) {
    entries.emplace_back(fmt::format("{:08}", i), std::string(random.below(most_bytes), 'a'));
  }
  database.put(entries);
  return TreeInMemory(database.bytes());
}

TEST(MappedTree, is_walked_as_liblmdb_walks_it) {
  for (const size_t most : {50, 1500, 9000}) {
    const TreeInMemory data = of_sizes(700, most);
    const LmdbEntries expected = walk_by_liblmdb(data.file);
    std::vector<std::string> values;
    MappedCursor cursor = data.tree().first();
    data.tree().advance(cursor, 700,
                        [&](Bytes value) { values.emplace_back(value.begin(), value.end()); });
    EXPECT_EQ(cursor.depth, 0u);
    EXPECT_EQ(cursor.record, 700);
    ASSERT_EQ(values.size(), expected.size());
    for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], expected[i].second);
  }
}

TEST(MappedTree, a_cursor_that_was_advanced_is_where_one_that_read_is) {
  const TreeInMemory data = of_sizes(500, 2000);
  const MappedTree tree = data.tree();
  MappedCursor skipping = tree.first(), reading = tree.first();
  for (const int64_t step : {0, 1, 7, 100, 300, 92}) {
    tree.advance(skipping, step);
    tree.advance(reading, step, [](Bytes) {});
    tree.check(skipping);
    EXPECT_EQ(skipping.record, reading.record);
    ASSERT_EQ(skipping.depth, reading.depth);
    for (uint64_t i = 0; i < skipping.depth; ++i) {
      EXPECT_EQ(skipping.stack[i].page, reading.stack[i].page);
      EXPECT_EQ(skipping.stack[i].index, reading.stack[i].index);
    }
  }
  EXPECT_THROW(tree.advance(skipping, 1), LmdbDamage);
}

TEST(MappedTree, a_cursor_from_elsewhere_is_checked) {
  const TreeInMemory data = of_sizes(500, 2000);
  const MappedTree tree = data.tree();
  MappedCursor good = tree.first();
  tree.advance(good, 250);
  tree.check(good);
  const auto refused = [&](auto change) {
    MappedCursor bad = good;
    change(bad);
    EXPECT_THROW(tree.check(bad), LmdbDamage);
  };
  refused([](MappedCursor& bad) { bad.depth = 33; });
  refused([](MappedCursor& bad) { bad.depth = 1; });
  refused([](MappedCursor& bad) { bad.stack[1].page += 8; });
  refused([](MappedCursor& bad) { bad.stack[0].page = nullptr; });
  refused([&](MappedCursor& bad) { bad.stack[0].page += data.file.size() / 4096 * 4096; });
  refused([](MappedCursor& bad) { bad.stack[1].index = 100'000; });
  refused([](MappedCursor& bad) { std::swap(bad.stack[0], bad.stack[1]); });
  refused([&](MappedCursor& bad) { bad.stack[0].page = data.map().data(); });  // a meta
}

TEST(MappedTree, damage_is_an_error) {
  const TreeInMemory data = of_sizes(400, 3000);
  Random random(5);
  for (int round = 0; round < 300; ++round) {
    TreeInMemory damaged(data.file);
    const size_t at = 8192 + random.below(damaged.file.size() - 8192);
    for (size_t i = at; i < std::min(at + 64, damaged.file.size()); ++i) {
      damaged.file[i] = static_cast<char>(random.next());
    }
    size_t bytes = 0;
    try {
      MappedCursor cursor = damaged.tree().first();
      damaged.tree().advance(cursor, 400, [&](Bytes value) {
        for (const uint8_t byte : value) bytes += byte;
      });
    } catch (const LmdbDamage&) {
    }
  }
}

}  // namespace
}  // namespace stoker
