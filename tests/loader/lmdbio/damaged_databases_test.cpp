#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>

#include "tests/support/lmdbio_runs.h"

// Databases that chance has damaged, read by our page reader, the data set and the explicit
// readers: they give what `sync` gives, or a clear error. STOKER_LONG: five times as many.

namespace stoker {
namespace {

using Texts = std::vector<std::string>;

int damaged_per_kind() { return std::getenv("STOKER_LONG") != nullptr ? 1000 : 200; }

std::string made_database(int64_t records, size_t key, size_t value, int64_t commit) {
  LmdbDatabase database;
  const auto record = [&](int64_t i) {
    std::pair<std::string, std::string> made(fmt::format("{:08}_cat/{}", i, i),
                                             std::string(value, static_cast<char>(i)));
    made.first.resize(std::max(key, made.first.size()), 'k');
    return made;
  };
  database.write(records, commit, record, MDB_APPEND);
  return database.bytes();
}

// Counts, offsets, page numbers and sizes at and behind their limits.
void put_hostile(std::string& file, size_t at, std::mt19937& random) {
  static const std::vector<uint64_t> kNumbers{0,
                                              1,
                                              2,
                                              8,
                                              16,
                                              4095,
                                              4096,
                                              0x7fff,
                                              0xffff,
                                              0x7fffffff,
                                              0xffffffff,
                                              uint64_t{1} << 40,
                                              uint64_t{1} << 63,
                                              ~uint64_t{0}};
  const uint64_t number = kNumbers[random() % kNumbers.size()];
  const size_t bytes = size_t{1} << random() % 4;
  if (at + bytes <= file.size()) std::memcpy(&file[at], &number, bytes);
}

std::string damaged(std::string file, std::mt19937& random) {
  const size_t pages = file.size() / 4096;
  switch (random() % 5) {
    case 0:  // bits, many of them in headers
      for (size_t i = 0; i < 1 + random() % 20; ++i) {
        const size_t place = random() % 2 == 0 ? random() % 4096 : random() % 64;
        file[random() % pages * 4096 + place] ^= static_cast<char>(1 << random() % 8);
      }
      break;
    case 1:
      file.resize(random() % file.size());
      break;
    case 2:
      for (size_t i = 0; i < 1 + random() % 3; ++i) {
        const size_t a = random() % pages * 4096, b = random() % pages * 4096;
        std::swap_ranges(&file[a], &file[a] + 4096, &file[b]);
      }
      break;
    case 3:  // in a meta
      for (size_t i = 0; i < 1 + random() % 3; ++i) {
        put_hostile(file, random() % 2 * 4096 + 16 + random() % 17 * 8, random);
      }
      break;
    default:  // in a page's header, slots or nodes
      for (size_t i = 0; i < 1 + random() % 4; ++i) {
        put_hostile(file, random() % pages * 4096 + random() % 2048 * 2, random);
      }
  }
  return file;
}

struct Outcomes {
  int read = 0;
  int refused = 0;
};

const std::string kDatabase =
    "{type: lmdb, storage: data, values: raw, on_error: {policy: skip, budget: 100%}}";

// The batches of a whole epoch; nothing where an Error says why not.
std::optional<Texts> batches_of(const Dataset& dataset, const std::string& loader) {
  try {
    LoaderRun run(dataset, loader);
    return run.digests(0, 0, run.loader().batches());
  } catch (const Error& error) {
    EXPECT_NE(error.code(), ExitCode::bug);
    EXPECT_NE(std::string(error.what()), "");
    return std::nullopt;
  }
}

void read_by_all(const Dataset& dataset, Outcomes& outcomes) {
  const auto sync =
      batches_of(dataset, "{type: sync, shuffle: false, batch_size: 8, digest: true}");
  for (const std::string reader : {"lmm_dio", "prov", "indexed"}) {
    const auto read = batches_of(
        dataset, "{type: lmdbio, batch_size: 8, digest: true, coalesce: 2, commit: 50, reader: " +
                     reader + "}");
    if (read && sync) {
      EXPECT_EQ(*read, *sync) << reader;
    }
    ++(read ? outcomes.read : outcomes.refused);
  }
}

void read_damaged(const std::string& file, unsigned seed) {
  std::mt19937 random(seed);
  Outcomes outcomes;
  for (int i = 0; i < damaged_per_kind(); ++i) {
    SCOPED_TRACE(i);
    // Half of them become damaged after they were verified.
    const bool later = i % 2 == 1;
    TestDataset data(make_storage("{type: memory}"));
    const std::string broken = damaged(file, random);
    put(data.tier(), "train/data.mdb", later ? file : broken);
    try {
      data.build(kDatabase);
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ExitCode::data || error.code() == ExitCode::environment);
      ++outcomes.refused;
      continue;
    }
    if (later) put(data.tier(), "train/data.mdb", broken);
    read_by_all(*data.dataset, outcomes);
  }
  EXPECT_GT(outcomes.read, 0);
  EXPECT_GT(outcomes.refused, 0);
}

TEST(DamagedDatabases, of_small_values_give_errors_or_what_is_there) {
  read_damaged(made_database(300, 20, 100, 50), 1);
}
TEST(DamagedDatabases, of_a_page_a_value_give_errors_or_what_is_there) {
  read_damaged(made_database(120, 20, 3'000, 50), 2);
}
TEST(DamagedDatabases, of_many_pages_a_value_give_errors_or_what_is_there) {
  read_damaged(made_database(40, 20, 20'000, 50), 3);
}
TEST(DamagedDatabases, with_deep_trees_give_errors_or_what_is_there) {
  read_damaged(made_database(300, 400, 60, 50), 4);
}

}  // namespace
}  // namespace stoker
