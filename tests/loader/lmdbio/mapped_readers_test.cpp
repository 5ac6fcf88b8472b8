#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/support/errors.h"
#include "tests/support/lmdbio_runs.h"

// What is special about readers that map the file; and ranks that die.

namespace stoker {
namespace {

using Texts = std::vector<std::string>;

std::string mapped_yaml(const std::string& reader, int64_t node_size) {
  return fmt::format("{{type: lmdbio, reader: {}, node_size: {}, batch_size: 8, digest: true}}",
                     reader, node_size);
}

std::vector<size_t> equal_sizes(int64_t count, size_t bytes) {
  return std::vector<size_t>(static_cast<size_t>(count), bytes);
}

// ThreadSanitizer has no room where we map.
#ifndef __SANITIZE_THREAD__
TEST(LmmDm, in_processes_maps_at_one_address_and_guesses_pages) {
  const DatabaseOnDisk database(equal_sizes(160, 9000));
  const TemporaryDirectory meetings;
  const Texts seen = in_processes(2, [&](int64_t rank) {
    const auto data = database.open();
    LoaderRun run(*data->dataset, mapped_yaml("lmm_dm", 1), {rank, 2},
                  group_in(meetings.path(), rank, 2));
    run.digests(0, 0, 20);
    if (!run.remarks().empty()) return run.remarks().front();
    const RecordReadCosts costs = run.meter().record_reads().costs().value();
    // 3 pages for each of 4 records; the first two fetches are made without a guess.
    if (costs.pages_fetched < 10 * 12) return fmt::format("{} fetched", costs.pages_fetched);
    const int64_t missed = costs.pages_missed_left + costs.pages_missed_right;
    if (missed < 2 * 12 || missed > 4 * 14) return fmt::format("{} missed", missed);
    return std::string("right");
  });
  EXPECT_EQ(seen, Texts(2, "right"));
}
#endif

TEST(LmmDm, where_the_address_is_taken_reads_as_lmm_does_and_says_so) {
  const DatabaseOnDisk database(equal_sizes(64, 3000));
  const auto expected_data = database.open();
  const Texts expected = LoaderRun(*expected_data->dataset,
                                   "{type: sync, shuffle: false, batch_size: 8, digest: true}")
                             .digests(0, 0, 8);
  const TemporaryDirectory meetings;
  Texts remarks;
  // In threads of one process the first one's map is in the way of the others'.
  const Texts seen = in_threads(2, [&](int64_t rank) {
    const auto data = database.open();
    LoaderRun run(*data->dataset, mapped_yaml("lmm_dm", 1), {rank, 2},
                  group_in(meetings.path(), rank, 2));
    const std::string batches = packed(run.digests(0, 0, 8));
    if (rank == 0) remarks = run.remarks();
    return batches;
  });
  EXPECT_EQ(whole_batches(seen), expected);
  EXPECT_EQ(remarks, Texts{"loader: train/data.mdb can't be mapped at one address in all readers, "
                           "after 200 tries: reader lmm_dm reads as lmm does"});
}

TEST(MappedReaders, refuse_what_is_no_longer_the_database_that_was_verified) {
  for (const std::string reader : {"lmdb", "lmm", "lmm_dm"}) {
    SCOPED_TRACE(reader);
    const DatabaseOnDisk database(equal_sizes(64, 3000));
    const auto data = database.open();
    const auto read = [&] { LoaderRun(*data->dataset, mapped_yaml(reader, 1)).digests(0, 0, 8); };
    read();
    const std::string file = database.folder() / "train/data.mdb";
    const auto bytes = std::filesystem::file_size(file);
    std::filesystem::resize_file(file, bytes - 4096);
    EXPECT_EQ(code_of(read), ExitCode::data);
    EXPECT_THAT(error_of(read), testing::HasSubstr("train/data.mdb"));
    const DatabaseOnDisk other(equal_sizes(65, 3000));
    database.folder().write("train/data.mdb", other.folder().read("train/data.mdb"));
    EXPECT_EQ(code_of(read), ExitCode::data);
    EXPECT_THAT(error_of(read),
                testing::HasSubstr("it is no longer the database that was verified"));
    const DatabaseOnDisk longer(equal_sizes(64, 3001));
    database.folder().write("train/data.mdb", longer.folder().read("train/data.mdb"));
    EXPECT_THAT(error_of(read), testing::HasSubstr("lies elsewhere"));
  }
}

TEST(MappedReaders, need_a_file_that_may_be_mapped) {
  LmdbDatabase database;
  database.put({{"00000000_cat/1", "x"}, {"00000001_dog/1", "y"}});
  TestDataset data(make_storage("{type: memory}"));
  put(data.tier(), "train/data.mdb", database.bytes());
  data.build("{type: lmdb, storage: data, values: raw}");
  for (const std::string reader : {"lmdb", "lmm", "lmm_dm"}) {
    LoaderRun run(*data.dataset, "{type: lmdbio, batch_size: 2, reader: " + reader + "}");
    run.loader().start(0, 0);
    EXPECT_EQ(error_of([&] { run.loader().next(); }),
              "loader: reader " + reader +
                  " maps the database, and train/data.mdb is not a file of a plain tier of this "
                  "machine: mount its tier by `stoker mount` and name the mount as a tier of type "
                  "posix, or choose an explicit reader such as reader: indexed");
  }
}

TEST(Lmdbio, reads_one_database_and_nothing_else) {
  const FakeDataset other(50);
  EXPECT_EQ(error_of([&] { LoaderRun(other, "{type: lmdbio}"); }),
            "loader: lmdbio reads LMDB databases: set dataset.type=lmdb, or use another loader");
  LmdbDatabase database;
  database.put({{"00000000_cat/1", "x"}});
  TestDataset data(make_storage("{type: memory}"));
  put(data.tier(), "a_train/data.mdb", database.bytes());
  put(data.tier(), "b_train/data.mdb", database.bytes());
  data.build("{type: lmdb, storage: data, values: raw}");
  EXPECT_EQ(error_of([&] { LoaderRun(*data.dataset, "{type: lmdbio, batch_size: 1}"); }),
            "loader: lmdbio reads one database, and dataset.train fits 2, such as a_train/data.mdb "
            "and b_train/data.mdb: set it to one of them");
}

TEST(Lmdbio, does_not_shuffle) {
  const auto parse = [](const std::string& more) {
    parse_component<Loader>(parse_yaml("{type: lmdbio" + more + "}", "t.yaml"));
  };
  parse("");
  parse(", coalesce: 1024, node_size: 3, reader: stag, stagger: 2");
  EXPECT_THAT(error_of([&] { parse(", shuffle: true"); }), testing::HasSubstr("must be false"));
  EXPECT_THAT(error_of([&] { parse(", order: window"); }), testing::HasSubstr("shuffle is false"));
  EXPECT_THAT(error_of([&] { parse(", coalesce: 0"); }),
              testing::HasSubstr("auto or a number from 1 to 1024"));
}

TEST(Lmdbio, says_before_it_is_made_how_it_works) {
  const auto info = [](const std::string& reader) {
    return parse_component<Loader>(parse_yaml("{type: lmdbio, reader: " + reader + "}", "t.yaml"))
        .info();
  };
  EXPECT_EQ(info("lmm_dm").maps_files, "loader.reader: lmm_dm");
  EXPECT_EQ(info("lmdb").maps_files, "loader.reader: lmdb");
  EXPECT_EQ(info("lmm_dio").maps_files, "");
  EXPECT_EQ(info("indexed").workers, 1);
  EXPECT_EQ(info("indexed").host_batches_ahead, 4);
  EXPECT_FALSE(info("lmm").shuffle);
  EXPECT_FALSE(info("prov").batches_by_ranks);
  EXPECT_TRUE(info("coal").batches_by_ranks);
  EXPECT_FALSE(info("stag, coalesce: 1").batches_by_ranks);
  EXPECT_TRUE(info("lmm, coalesce: 2").batches_by_ranks);
}

TEST(Lmdbio, evaluation_is_in_the_order_of_the_data_set_and_an_empty_split_has_no_batch) {
  const DatabaseOnDisk database(equal_sizes(21, 500), ", test: eval/data.mdb");
  std::filesystem::copy(database.folder() / "train", database.folder() / "eval");
  const auto data = database.open();
  const Texts expected =
      LoaderRun(*data->dataset, "{type: sync, batch_size: 8, digest: true}", {}, {}, Split::test)
          .digests(0, 0, 6);
  EXPECT_EQ(LoaderRun(*data->dataset, mapped_yaml("lmm", 0), {}, {}, Split::test).digests(0, 0, 6),
            expected);
  const DatabaseOnDisk without(equal_sizes(21, 500));
  const auto nothing = without.open();
  LoaderRun run(*nothing->dataset, mapped_yaml("lmm", 0), {}, {}, Split::test);
  EXPECT_EQ(run.loader().batches(), 0);
  run.loader().start(0, 0);
  EXPECT_FALSE(run.loader().next());
}

TEST(Lmdbio, can_be_destroyed_at_any_time) {
  const DatabaseOnDisk database(equal_sizes(64, 3000));
  for (const int batches : {0, 1, 5}) {
    const TemporaryDirectory meetings;
    const Texts seen = in_processes(2, [&](int64_t rank) {
      const auto data = database.open();
      LoaderRun run(*data->dataset, mapped_yaml("lmm", 2), {rank, 2},
                    group_in(meetings.path(), rank, 2));
      run.loader().start(0, 0);
      for (int i = 0; i < batches; ++i) run.loader().next();
      if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      return std::string("gone");
    });
    EXPECT_EQ(seen, Texts(2, "gone"));
  }
}

// Rank 1 kills itself after a batch; what the others are told. What they share has no name, and so
// there is nothing to look for but in their maps.
Texts without_rank_1(const std::string& reader, int64_t node_size) {
  const DatabaseOnDisk database(equal_sizes(400, 9000));
  const TemporaryDirectory meetings;
  return in_processes(3, [&](int64_t rank) {
    const auto data = database.open();
    std::string error;
    {
      LoaderRun run(*data->dataset, mapped_yaml(reader, node_size), {rank, 3},
                    group_in(meetings.path(), rank, 3));
      run.loader().start(0, 0);
      run.loader().next();
      if (rank == 1) ::kill(::getpid(), SIGKILL);
      error = error_of([&] {
        while (run.loader().next()) {
        }
      });
    }
    std::ifstream maps("/proc/self/maps");
    const std::string text{std::istreambuf_iterator<char>(maps), {}};
    return error + (text.find("memfd") == std::string::npos ? "" : " and memory is left");
  });
}

TEST(Lmdbio, a_rank_that_is_killed_ends_the_others_and_leaves_nothing) {
  for (const auto& [reader, node_size] :
       std::vector<std::pair<std::string, int64_t>>{{"lmm", 3}, {"lmm_dm", 1}, {"lmm_dm", 2}}) {
    const Texts seen = without_rank_1(reader, node_size);
    EXPECT_EQ(seen[1], "");
    for (const size_t rank : {0, 2}) {
      EXPECT_THAT(seen[rank], testing::MatchesRegex("loader: rank 1 \\(process [0-9]+\\) has died, "
                                                    "or ended, while ranks read together"));
    }
  }
}

TEST(Lmdbio, a_rank_whose_loader_fails_tells_the_others_why) {
  const DatabaseOnDisk database(equal_sizes(64, 3000)), other(equal_sizes(64, 3001));
  const TemporaryDirectory meetings;
  const Texts seen = in_processes(2, [&](int64_t rank) {
    const auto data = rank == 0 ? database.open() : other.open();
    // Rank 1 finds another database where its own was.
    if (rank == 1) {
      other.folder().write("train/data.mdb", database.folder().read("train/data.mdb"));
    }
    LoaderRun run(*data->dataset, mapped_yaml("lmm_dm", 1), {rank, 2},
                  group_in(meetings.path(), rank, 2));
    run.loader().start(0, 0);
    return error_of([&] {
      for (int i = 0; i < 100; ++i) run.loader().next();
    });
  });
  EXPECT_THAT(seen[1], testing::StartsWith("loader: train/data.mdb: record "));
  EXPECT_EQ(seen[0], "loader: rank 1: " + seen[1]);
}

}  // namespace
}  // namespace stoker
