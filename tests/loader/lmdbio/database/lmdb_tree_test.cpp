#include "io/loader/lmdbio/database/lmdb_tree.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>

#include "io/core/error.h"
#include "tests/support/errors.h"
#include "tests/support/lmdb_database.h"
#include "tests/support/storages.h"

// liblmdb makes databases whose pages are as large as the machine's, so the machine says another
// size to it. Sanitizers ask before they are ready to watch.
static long machine_page_bytes = 0;
extern "C" long __sysconf(int name) noexcept;  // glibc's own
extern "C" __attribute__((no_sanitize("address", "thread", "undefined"))) long sysconf(
    int name) noexcept {
  return name == _SC_PAGESIZE && machine_page_bytes != 0 ? machine_page_bytes : __sysconf(name);
}

namespace stoker {
namespace {

struct MachinePages {
  explicit MachinePages(long bytes) { machine_page_bytes = bytes; }
  ~MachinePages() { machine_page_bytes = 0; }
};

ObjectInfo object_of(const Storage& tier) { return tier.list("db").at(0); }

std::unique_ptr<Storage> tier_with(const std::string& file) {
  std::unique_ptr<Storage> tier = make_storage("{type: memory}");
  put(*tier, "db", file);
  return tier;
}

// What our reader finds; values are read where it says that they are.
LmdbEntries walk_by_us(const std::string& file) {
  const auto tier = tier_with(file);
  LmdbTree tree(*tier, object_of(*tier));
  LmdbEntries entries;
  tree.walk([&](std::span<const LmdbEntry> found) {
    for (const LmdbEntry& entry : found) {
      std::string value = get(*tier, "db", {entry.offset, entry.bytes});
      if (entry.here) {
        EXPECT_EQ(value, std::string(entry.value.begin(), entry.value.end()));
      }
      entries.emplace_back(std::string(entry.key.begin(), entry.key.end()), std::move(value));
    }
  });
  return entries;
}

LmdbMeta meta_of(const std::string& file) {
  const auto tier = tier_with(file);
  return LmdbTree(*tier, object_of(*tier)).meta();
}

std::string refusal_of(const std::string& file) {
  return error_of([&] { walk_by_us(file); });
}

std::string text_of(std::mt19937& random, size_t bytes) {
  std::string text(bytes, static_cast<char>(random()));
  for (size_t i = 0; i < bytes && i < 16; ++i) text[i] = static_cast<char>(random());
  return text;
}

// Values at and around the sizes where LMDB keeps them elsewhere, or takes another page.
size_t value_bytes(std::mt19937& random) {
  static const std::vector<size_t> kEdges{0,    1,    100,  1500, 1900, 2020, 2030, 2038,
                                          2100, 4079, 4080, 4081, 8176, 8177, 9000};
  const size_t near = kEdges[random() % kEdges.size()];
  return random() % 100 == 0 ? 60'000 : near + random() % 3;
}

// Thousands of entries, written and rewritten and removed in many transactions.
std::string much_used_database(unsigned seed, size_t longest_key = 511) {
  std::mt19937 random(seed);
  LmdbDatabase database;
  std::map<std::string, bool> keys;
  for (int round = 0; round < 6; ++round) {
    LmdbEntries entries;
    for (int i = 0; i < 250; ++i) {
      const std::string key = text_of(random, 1 + random() % longest_key);
      entries.emplace_back(key, text_of(random, value_bytes(random)));
      keys[key] = true;
    }
    for (const auto& [key, there] : keys) {
      if (random() % 10 == 0) entries.emplace_back(key, text_of(random, value_bytes(random)));
    }
    database.put(entries);
    std::vector<std::string> removed;
    for (const auto& [key, there] : keys) {
      if (random() % 5 == 0) removed.push_back(key);
    }
    for (const std::string& key : removed) keys.erase(key);
    database.remove(removed);
  }
  return database.bytes();
}

TEST(LmdbTree, finds_what_liblmdb_finds_in_much_used_databases) {
  for (const unsigned seed : {1u, 2u}) {
    const std::string file = much_used_database(seed);
    const LmdbEntries expected = walk_by_liblmdb(file);
    EXPECT_GT(expected.size(), 500u);
    EXPECT_GE(meta_of(file).depth, 4u);
    EXPECT_EQ(meta_of(file).entries, expected.size());
    EXPECT_TRUE(walk_by_us(file) == expected);
  }
}

TEST(LmdbTree, reads_pages_of_every_size_that_liblmdb_makes) {
  for (const long bytes : {4096, 8192, 16384, 32768}) {
    const MachinePages pages(bytes);
    const std::string file = much_used_database(4, 100);
    EXPECT_EQ(meta_of(file).page_bytes, static_cast<uint64_t>(bytes));
    EXPECT_TRUE(walk_by_us(file) == walk_by_liblmdb(file));
  }
}

TEST(LmdbTree, finds_tens_of_thousands_of_small_values_in_order) {
  LmdbEntries entries;
  for (int i = 0; i < 60'000; ++i) {
    entries.emplace_back(std::to_string(10'000'000 + i), "value " + std::to_string(i));
  }
  LmdbDatabase database;
  database.put(entries);
  const std::string file = database.bytes();
  EXPECT_TRUE(walk_by_us(file) == entries);
  EXPECT_TRUE(walk_by_liblmdb(file) == entries);
}

TEST(LmdbTree, an_empty_database_has_no_entries) {
  EXPECT_EQ(walk_by_us(LmdbDatabase().bytes()), LmdbEntries{});
  LmdbDatabase database;
  database.put({{"a", "1"}});
  database.remove({"a"});
  EXPECT_EQ(walk_by_us(database.bytes()), LmdbEntries{});
}

TEST(LmdbTree, the_older_meta_counts_where_the_newer_one_was_written_half) {
  for (const long bytes : {4096, 16384}) {
    const MachinePages pages(bytes);
    LmdbDatabase database;
    database.put({{"a", "1"}});
    for (int transaction = 0; transaction < 2; ++transaction) {
      const LmdbEntries before = walk_by_us(database.bytes());
      database.put({{"b" + std::to_string(transaction), std::string(5000, 'x')}});
      std::string file = database.bytes();
      const size_t newest = (meta_of(file).transaction % 2) * static_cast<size_t>(bytes);
      for (const size_t damaged : {size_t{0}, size_t{10}, size_t{16}, size_t{20}}) {
        std::string torn = file;
        torn.replace(newest + damaged, 2, "\xa5\xa5");
        EXPECT_EQ(walk_by_us(torn), before) << bytes << " " << damaged;
      }
      std::string other = file;
      other.replace(static_cast<size_t>(bytes) - newest, 64, std::string(64, '\0'));
      EXPECT_EQ(walk_by_us(other), walk_by_us(file));
    }
  }
}

TEST(LmdbTree, what_is_no_database_is_refused) {
  const std::string expected =
      "dataset: shard db is no LMDB database, or a damaged one (it has no valid meta page): make "
      "it "
      "anew, or take it out of the pattern";
  EXPECT_EQ(refusal_of(""), expected);
  EXPECT_EQ(refusal_of("text"), expected);
  EXPECT_EQ(refusal_of(std::string(100'000, '\0')), expected);
  LmdbDatabase database;
  database.put({{"a", "1"}});
  std::string later = database.bytes();
  later[20] = later[4096 + 20] = 2;  // the version
  EXPECT_EQ(refusal_of(later), expected);
}

TEST(LmdbTree, a_file_that_was_cut_is_refused) {
  LmdbDatabase database;
  database.put({{"a", std::string(100'000, 'x')}, {"b", "small"}});
  const std::string file = database.bytes();
  EXPECT_EQ(walk_by_us(file).size(), 2u);
  EXPECT_EQ(
      refusal_of(file.substr(0, 60'000)),
      "dataset: shard db was cut: it has 60000 bytes, and its pages up to 27 are 114688: copy "
      "it anew, or take it out of the pattern");
  for (size_t bytes = 0; bytes < file.size(); bytes += 1013) {
    EXPECT_NE(refusal_of(file.substr(0, bytes)), "") << bytes;
  }
}

// "Actually the file may be shorter if the freeDB lists the final pages" (mdb.c): so what is at the
// end of a file is missed only where somebody uses it.
TEST(LmdbTree, a_file_may_end_before_pages_that_nobody_uses) {
  LmdbDatabase database;
  database.put({{"a", "1"}});
  std::string file = database.bytes();
  const LmdbMeta meta = meta_of(file);
  file[meta.transaction % 2 * 4096 + 16 + 120] = static_cast<char>(meta.last_page + 9);
  EXPECT_EQ(meta_of(file).last_page, meta.last_page + 9);
  EXPECT_EQ(walk_by_us(file), (LmdbEntries{{"a", "1"}}));
}

TEST(LmdbTree, databases_with_names_and_duplicates_are_refused) {
  LmdbDatabase named, duplicates, numbers;
  named.put({{"a", "1"}}, 0, "inner");
  duplicates.put({{"a", "1"}, {"a", "2"}}, MDB_DUPSORT);
  numbers.put({{std::string(8, '\1'), "1"}}, MDB_INTEGERKEY);
  const std::string hint = ": copy its samples into the main database of a file, one value a key";
  EXPECT_EQ(refusal_of(named.bytes()),
            "dataset: shard db can't be used, for it has databases with names ('inner')" + hint);
  const std::string flags =
      "dataset: shard db can't be used, for its keys have several values or are no bytes "
      "(MDB_DUPSORT, MDB_INTEGERKEY...)" +
      hint;
  EXPECT_EQ(refusal_of(duplicates.bytes()), flags);
  EXPECT_EQ(refusal_of(numbers.bytes()), flags);
}

TEST(LmdbTree, a_page_in_a_cycle_is_damage) {
  LmdbEntries entries;
  for (int i = 0; i < 500; ++i)
    entries.emplace_back("key" + std::to_string(i), std::string(99, 'x'));
  LmdbDatabase database;
  database.put(entries);
  std::string file = database.bytes();
  const LmdbMeta meta = meta_of(file);
  ASSERT_EQ(meta.depth, 2u);
  const size_t root = meta.root * meta.page_bytes;
  uint16_t node = 0;
  std::memcpy(&node, &file[root + 16], sizeof node);
  file[root + node] = static_cast<char>(meta.root);
  EXPECT_EQ(refusal_of(file), "dataset: shard db is no LMDB database, or a damaged one (page " +
                                  std::to_string(meta.root) +
                                  " is used twice): make it anew, or take it out of the pattern");
}

TEST(LmdbTree, entries_that_overlap_are_damage) {
  LmdbEntries entries;
  for (int i = 0; i < 10; ++i) entries.emplace_back(std::to_string(i), std::string(300, 'x'));
  LmdbDatabase database;
  database.put(entries);
  std::string file = database.bytes();
  const size_t root = meta_of(file).root * 4096;
  const size_t last = root + 16 + 2 * 9;
  for (size_t slot = 0; slot < 9; ++slot) file.replace(root + 16 + 2 * slot, 2, file, last, 2);
  EXPECT_EQ(walk_by_us(file).size(), 10u);  // there is room for as many
  uint16_t node = 0;
  std::memcpy(&node, &file[last], sizeof node);
  file[root + node + 6] = 100;  // a longer key
  EXPECT_NE(refusal_of(file).find("has entries that overlap"), std::string::npos);
}

// Counts what is read.
class LmdbReads final : public Storage {
 public:
  explicit LmdbReads(std::unique_ptr<Storage> inner) : inner_(std::move(inner)) {}
  std::vector<ObjectInfo> list(const std::string& prefix) const override {
    return inner_->list(prefix);
  }
  void read(const std::string& key, Buffer& out, Range range) const override {
    inner_->read(key, out, range);
    ++requests;
    bytes += out.size();
  }
  std::unique_ptr<ObjectWriter> create(const std::string& key) override {
    return inner_->create(key);
  }
  void remove(const std::string& key) override { inner_->remove(key); }
  mutable std::atomic<uint64_t> requests{0}, bytes{0};

 private:
  const std::unique_ptr<Storage> inner_;
};

TEST(LmdbTree, large_values_are_not_read_and_leaves_come_together) {
  LmdbDatabase database;
  for (int round = 0; round < 3; ++round) {
    LmdbEntries entries;
    for (int i = 0; i < 50; ++i) {
      entries.emplace_back(std::to_string(1000 + 50 * round + i), std::string(150'000, 'x'));
    }
    database.put(entries);
  }
  LmdbReads tier(tier_with(database.bytes()));
  LmdbTree tree(tier, object_of(tier));
  size_t count = 0;
  tree.walk([&](std::span<const LmdbEntry> entries) { count += entries.size(); });
  EXPECT_EQ(count, 150u);
  EXPECT_LT(tier.requests, 8u);     // metas, root, and leaves of about 70 entries
  EXPECT_LT(tier.bytes, 300'000u);  // of 22 MB
  LmdbDatabase small;
  LmdbEntries entries;
  for (int i = 0; i < 3000; ++i)
    entries.emplace_back(std::to_string(10'000 + i), std::string(700, 'x'));
  small.put(entries);
  const std::string file = small.bytes();
  LmdbReads few(tier_with(file));
  LmdbTree(few, object_of(few)).walk([](std::span<const LmdbEntry>) {});
  EXPECT_LT(few.requests, 6 + file.size() / 500'000);  // leaves side by side come by 1 MiB
}

}  // namespace
}  // namespace stoker
