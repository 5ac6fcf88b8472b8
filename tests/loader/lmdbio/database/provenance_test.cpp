#include "io/loader/lmdbio/database/provenance.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "io/core/error.h"
#include "io/loader/lmdbio/database/lmdb_tree.h"
#include "io/loader/lmdbio/database/lmdb_writer.h"
#include "tests/support/errors.h"
#include "tests/support/lmdb_database.h"
#include "tests/support/short_tests.h"
#include "tests/support/storages.h"

namespace stoker {
namespace {

// Records whose sizes are `key` and `value`, or are spread around these.
struct Workload {
  int64_t records = 0;
  int64_t commit = 0;
  uint64_t key = 0;
  uint64_t value = 0;
  bool vary = false;
  bool append = true;

  LmdbRecordSizes sizes(int64_t record) const {
    if (!vary) return {key, value};
    const uint64_t mixed = (static_cast<uint64_t>(record) * 0x9e3779b97f4a7c15) >> 40;
    return {key + mixed % 40, (mixed >> 6) % (2 * value)};
  }
  std::pair<std::string, std::string> record(int64_t i) const {
    std::pair<std::string, std::string> made(fmt::format("{:08}", i), "");
    made.first.resize(sizes(i).key, 'k');
    made.second.resize(sizes(i).value, static_cast<char>(i));
    return made;
  }
  void write(LmdbDatabase& database) const {
    database.write(
        records, commit, [this](int64_t i) { return record(i); }, append ? MDB_APPEND : 0);
  }
  Provenance provenance() const {
    return {{4096, commit, append}, records, [this](int64_t i) { return sizes(i); }};
  }
  std::string name() const {
    return fmt::format("{} of {} + {} bytes by {}, vary {}, append {}", records, key, value, commit,
                       vary, append);
  }
};

bool long_tests() { return std::getenv("STOKER_LONG") != nullptr; }

ObjectInfo file_of(const Storage& tier, const std::string& name = "data.mdb") {
  return tier.list(name).at(0);
}

LmdbMeta meta_in(const std::string& folder, const std::string& name = "data.mdb") {
  const auto tier = posix_storage(folder);
  return LmdbTree(*tier, file_of(*tier, name)).meta();
}

// How many of the records that the tree has lie where they are not computed to lie.
int64_t wrong_places(const Provenance& provenance, const LmdbDatabase& database) {
  const auto tier = posix_storage(database.folder());
  LmdbTree tree(*tier, file_of(*tier));
  int64_t record = 0, wrong = 0;
  tree.walk([&](std::span<const LmdbEntry> entries) {
    const auto places = provenance.places(record, record + std::ssize(entries));
    EXPECT_EQ(places.size(), entries.size());
    for (size_t i = 0; i < entries.size(); ++i) {
      const LmdbPlace& place = places[i];
      wrong += place.offset(4096) != entries[i].offset || place.sizes.value != entries[i].bytes ||
               (place.pages == 0) != entries[i].here;
    }
    record += std::ssize(entries);
  });
  return wrong;
}

void expect_exact(const Workload& workload) {
  LmdbDatabase database(size_t{64} << 30);
  workload.write(database);
  const Provenance provenance = workload.provenance();
  EXPECT_EQ(provenance.check(meta_in(database.folder())), "") << workload.name();
  EXPECT_EQ(wrong_places(provenance, database), 0) << workload.name();
}

TEST(Provenance, of_a_million_records_is_exact_for_each) {
  expect_exact({static_cast<int64_t>(1'000'000 / stride(4)), 1000, 8, 150});
  if (!long_tests()) return;
  for (const int64_t commit : {1, 7, 100}) expect_exact({1'000'000, commit, 8, 150});
  for (const int64_t commit : {1, 7, 100, 1000}) expect_exact({1'000'000, commit, 16, 3100});
}

TEST(Provenance, is_exact_however_often_was_committed) {
  for (const int64_t commit : {1, 7, 100, 1000}) {
    expect_exact({20'000, commit, 24, 3100});
    expect_exact({30'000, commit, 8, 120});
    expect_exact({2'000, commit, 20, 9'000});
    expect_exact({400, commit, 20, 192'000});
  }
}

TEST(Provenance, is_exact_where_sizes_vary_and_the_tree_is_deep) {
  for (const uint64_t value : {100u, 2'000u, 9'000u}) {
    expect_exact({3'000, 7, 300, value, true});
    expect_exact({3'000, 100, 30, value, true});
  }
}

// Caffe's convert_imageset: keys in their order, without MDB_APPEND.
TEST(Provenance, is_exact_for_keys_in_order_that_were_not_appended) {
  for (const int64_t commit : {1, 100, 1000}) {
    for (const uint64_t value : {120u, 3'100u, 9'000u}) {
      expect_exact({3'000, commit, 24, value, false, false});
      expect_exact({2'000, commit, 300, value, true, false});
    }
  }
}

TEST(Provenance, any_stretch_of_records_has_the_same_places) {
  const Workload workload{20'000, 100, 16, 1'000, true};
  const Provenance provenance = workload.provenance();
  const std::vector<LmdbPlace> all = provenance.places(0, workload.records);
  ASSERT_EQ(all.size(), 20'000u);
  std::mt19937 random(1);
  for (int i = 0; i < 50; ++i) {
    const auto first = static_cast<int64_t>(random() % 20'000);
    const int64_t last = std::min<int64_t>(20'000, first + static_cast<int64_t>(random() % 6'000));
    const std::vector<LmdbPlace> part = provenance.places(first, last);
    ASSERT_EQ(std::ssize(part), last - first);
    for (int64_t at = first; at < last; ++at) {
      EXPECT_EQ(part[static_cast<size_t>(at - first)].offset(4096),
                all[static_cast<size_t>(at)].offset(4096));
    }
  }
}

TEST(Provenance, an_empty_database_and_one_of_a_record_hold) {
  for (const int64_t records : {0, 1, 2}) expect_exact({records, 1, 8, 5'000});
}

// A database of 3,000 records that was to be by 100, of which something is different.
std::string refusal_of(const Workload& assumed, const LmdbDatabase& database) {
  return assumed.provenance().check(meta_in(database.folder()));
}

TEST(Provenance, another_number_of_records_a_transaction_is_refused) {
  const Workload assumed{3'000, 100, 16, 3'100};
  Workload written = assumed;
  written.commit = 50;
  LmdbDatabase database;
  written.write(database);
  EXPECT_EQ(refusal_of(assumed, database),
            "it has 60 transactions where appending would have made 30: its transactions had "
            "another number of records, or there were several writers, or it was changed or "
            "compacted later");
}

TEST(Provenance, a_second_writer_with_another_transaction_size_is_refused) {
  const Workload assumed{3'000, 100, 16, 3'100};
  LmdbDatabase database;
  const auto record = [&](int64_t i) { return assumed.record(i); };
  database.write(1'550, 100, record, MDB_APPEND);
  database.write(
      1'450, 100, [&](int64_t i) { return record(1'550 + i); }, MDB_APPEND);
  // As many transactions would be by chance: 1,550 and 1,450 records are 16 and 15.
  EXPECT_NE(refusal_of(assumed, database).find("31 transactions"), std::string::npos);
  // The same number, in another place.
  LmdbDatabase other;
  other.write(1'000, 50, record, MDB_APPEND);
  other.write(
      2'000, 200, [&](int64_t i) { return record(1'000 + i); }, MDB_APPEND);
  EXPECT_NE(refusal_of(assumed, other), "");
}

TEST(Provenance, keys_in_another_order_are_refused) {
  const Workload assumed{3'000, 100, 16, 3'100};
  std::vector<int64_t> order(3'000);
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  std::ranges::shuffle(order, std::mt19937(7));
  LmdbDatabase database;
  database.write(
      3'000, 100, [&](int64_t i) { return assumed.record(order[static_cast<size_t>(i)]); }, 0);
  EXPECT_NE(refusal_of(assumed, database).find("pages were split in the middle"),
            std::string::npos);
}

TEST(Provenance, deleted_and_overwritten_records_are_refused) {
  const Workload assumed{3'000, 100, 16, 3'100};
  LmdbDatabase deleted;
  assumed.write(deleted);
  deleted.remove({assumed.record(5).first});
  EXPECT_NE(refusal_of(assumed, deleted).find("records were deleted"), std::string::npos);
  // One that comes again, so that the number agrees.
  deleted.put({assumed.record(5)});
  EXPECT_NE(refusal_of(assumed, deleted), "");

  LmdbDatabase overwritten;
  assumed.write(overwritten);
  overwritten.put({assumed.record(5)});
  EXPECT_NE(refusal_of(assumed, overwritten), "");

  // By one that has as many transactions as it should.
  LmdbDatabase within;
  const auto record = [&](int64_t i) { return assumed.record(i); };
  within.write(2'900, 100, record, MDB_APPEND);
  LmdbEntries last;
  for (int64_t i = 2'900; i < 3'000; ++i) last.push_back(record(i));
  last.push_back(record(5));
  within.put(last);
  EXPECT_NE(refusal_of(assumed, within).find("pages came free in another way"), std::string::npos);
}

TEST(Provenance, a_compacted_copy_is_refused) {
  const Workload many{3'000, 100, 16, 3'100}, once{100, 100, 16, 3'100};
  for (const Workload& assumed : {many, once}) {
    LmdbDatabase database;
    assumed.write(database);
    database.compact_into("copy.mdb");
    EXPECT_EQ(assumed.provenance().check(meta_in(database.folder())), "");
    EXPECT_NE(assumed.provenance().check(meta_in(database.folder(), "copy.mdb")), "");
  }
}

TEST(Provenance, other_sizes_than_those_that_were_written_are_refused) {
  Workload written{3'000, 100, 16, 3'100};
  LmdbDatabase database;
  written.write(database);
  Workload assumed = written;
  assumed.value = 9'000;
  EXPECT_NE(refusal_of(assumed, database).find("its values had other sizes"), std::string::npos);
  assumed.value = 3'200;  // as many pages: that is all that counts
  EXPECT_EQ(refusal_of(assumed, database), "");
  assumed.key = 30;
  EXPECT_NE(refusal_of(assumed, database), "");
  assumed.key = 600;
  EXPECT_EQ(refusal_of(assumed, database), "a key or a value has a size that liblmdb doesn't take");
}

// Of `stoker dataset convert`.
TEST(Provenance, holds_for_what_our_writer_makes) {
  const TemporaryDirectory folder;
  const auto tier = posix_storage(folder.path());
  const auto writer = create_lmdb(*tier, "data.mdb");
  std::vector<uint64_t> keys, values;
  for (int i = 0; i < 2'500; ++i) {
    const std::string key = "class/image_" + std::to_string(i);
    const std::string bytes(3'000 + static_cast<size_t>(i), 'x');
    writer->add({key, i % 7, {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}});
    keys.push_back(9 + key.size());
  }
  writer->commit();
  LmdbTree tree(*tier, file_of(*tier));
  std::vector<uint64_t> offsets;
  tree.walk([&](std::span<const LmdbEntry> entries) {
    for (const LmdbEntry& entry : entries) {
      values.push_back(entry.bytes);
      offsets.push_back(entry.offset);
    }
  });
  const Provenance provenance({4096, 1000, true}, 2'500, [&](int64_t i) {
    const auto at = static_cast<size_t>(i);
    return LmdbRecordSizes{keys[at], values[at]};
  });
  EXPECT_EQ(provenance.check(tree.meta()), "");
  const std::vector<LmdbPlace> places = provenance.places(0, 2'500);
  for (size_t i = 0; i < places.size(); ++i) EXPECT_EQ(places[i].offset(4096), offsets[i]);
}

TEST(Provenance, a_record_elsewhere_is_seen_by_its_page) {
  for (const uint64_t value : {100u, 3'000u, 9'000u}) {
    const Workload workload{500, 100, 16, value};
    LmdbDatabase database;
    workload.write(database);
    std::string file = database.bytes();
    const LmdbPlace place = workload.provenance().places(300, 301).at(0);
    const auto from_page = [&] {
      const auto* const bytes = reinterpret_cast<const uint8_t*>(file.data());
      return Bytes(bytes + 4096 * place.page, place.in_page + value);
    };
    EXPECT_TRUE(is_at_its_place(place, from_page()));
    LmdbPlace other = place;
    other.page += 1;
    EXPECT_FALSE(is_at_its_place(other, from_page()));
    other = place;
    other.sizes.value -= 1;
    EXPECT_EQ(is_at_its_place(other, from_page()), place.pages != 0);
    EXPECT_FALSE(is_at_its_place(place, from_page().first(place.in_page)));
    EXPECT_FALSE(is_at_its_place(place, {}));
    file[4096 * place.page + 10] = 1;  // a branch
    EXPECT_FALSE(is_at_its_place(place, from_page()));
  }
}

}  // namespace
}  // namespace stoker
