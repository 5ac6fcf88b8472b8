#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "io/dataset/read_sample.h"
#include "tests/support/errors.h"
#include "tests/support/expecting_storage.h"
#include "tests/support/lmdbio_runs.h"

// What is special about readers that read explicitly.

namespace stoker {
namespace {

using Texts = std::vector<std::string>;

const Texts kExplicit{"lmm_dio", "prov", "coal", "stag", "indexed"};

// A database in a folder of its own that was written by this.
class WrittenDatabase {
 public:
  template <class F>
  explicit WrittenDatabase(const F& write) {
    LmdbDatabase database;
    write(database);
    folder_.write("train/data.mdb", database.bytes());
  }
  std::unique_ptr<TestDataset> open(const std::string& tier = "posix") const {
    auto data = std::make_unique<TestDataset>(
        make_storage("{type: " + tier + ", root: " + folder_.path() + "}"));
    data->build("{type: lmdb, storage: data, values: raw}");
    return data;
  }
  std::string file() const { return folder_ / "train/data.mdb"; }

 private:
  const TemporaryDirectory folder_;
};

std::pair<std::string, std::string> numbered(int64_t i, size_t bytes) {
  std::string value(bytes, static_cast<char>(i));
  if (bytes >= 8) std::memcpy(value.data(), &i, 8);
  return {fmt::format("{:08}_cat/{}.jpg", i, i), value};
}

// Caffe's: appended, 100 records a transaction.
WrittenDatabase appended(int64_t records, size_t bytes, int64_t commit = 100) {
  return WrittenDatabase([=](LmdbDatabase& database) {
    database.write(
        records, commit, [&](int64_t i) { return numbered(i, bytes); }, MDB_APPEND);
  });
}

Texts sync_digests(const WrittenDatabase& database, int64_t batches) {
  const auto data = database.open();
  return LoaderRun(*data->dataset, "{type: sync, shuffle: false, batch_size: 8, digest: true}")
      .digests(0, 0, batches);
}

std::string explicit_yaml(const std::string& reader, const std::string& more = "") {
  return "{type: lmdbio, batch_size: 8, digest: true, coalesce: 1, commit: 100, reader: " + reader +
         more + "}";
}

TEST(Provenance_reader, takes_the_offsets_from_the_history_and_walks_where_it_does_not_hold) {
  for (const size_t bytes : {150u, 3'100u, 20'000u}) {
    const WrittenDatabase database = appended(400, bytes);
    const auto data = database.open();
    const Texts expected = sync_digests(database, 50);
    for (const std::string reader : {"prov", "coal", "stag"}) {
      LoaderRun right(*data->dataset, explicit_yaml(reader));
      EXPECT_EQ(right.digests(0, 0, 50), expected);
      EXPECT_EQ(right.remarks(), Texts{});
    }
    LoaderRun wrong(*data->dataset,
                    "{type: lmdbio, batch_size: 8, digest: true, commit: 50, reader: prov}");
    EXPECT_EQ(wrong.digests(0, 0, 50), expected);
    EXPECT_EQ(
        wrong.remarks(),
        Texts{"loader: train/data.mdb was not written as its provenance says, 50 records a "
              "transaction (loader.commit): it has 4 transactions where appending would have made "
              "8: its transactions had another number of records, or there were several writers, "
              "or it was changed or compacted later; its tree is walked instead"});
  }
}

TEST(Provenance_reader, takes_what_caffe_writes_and_keys_of_any_length) {
  const auto longer = [](int64_t i) {
    auto record = numbered(i, 2'000 + static_cast<size_t>(i % 50) * 60);
    record.first.insert(9, static_cast<size_t>(i % 40), 'x');
    return record;
  };
  for (const unsigned flags : {0u, unsigned{MDB_APPEND}}) {
    const WrittenDatabase database(
        [&](LmdbDatabase& made) { made.write(400, 100, longer, flags); });
    const auto data = database.open();
    LoaderRun run(*data->dataset, explicit_yaml("prov"));
    EXPECT_EQ(run.digests(0, 0, 50), sync_digests(database, 50));
    EXPECT_EQ(run.remarks(), Texts{});
  }
}

TEST(Provenance_reader, in_processes_agrees_on_what_the_first_one_finds) {
  const WrittenDatabase database = appended(400, 3'100);
  const Texts expected = sync_digests(database, 50);
  for (const std::string reader : {"lmm_dio", "prov", "stag"}) {
    for (const std::string commit : {"100", "33"}) {
      const TemporaryDirectory meetings;
      const Texts seen = whole_batches(in_processes(4, [&](int64_t rank) {
        const auto data = database.open();
        LoaderRun run(*data->dataset,
                      "{type: lmdbio, batch_size: 8, digest: true, coalesce: 1, node_size: 1, "
                      "stagger: 2, commit: " +
                          commit + ", reader: " + reader + "}",
                      {rank, 4}, group_in(meetings.path(), rank, 4));
        const std::string batches = packed(run.digests(0, 0, 50));
        const bool remark = rank == 0 && reader != "lmm_dio" && commit == "33";
        if (run.remarks().size() != (remark ? 1u : 0u)) return std::string("remarks");
        return batches;
      }));
      EXPECT_EQ(seen, expected) << reader << " " << commit;
    }
  }
}

// A file of which pages were exchanged after it was verified: all the same for who takes its
// offsets, and its sizes are those of before.
TEST(Provenance_reader, does_not_take_one_record_for_another_kind_of_page) {
  const WrittenDatabase database = appended(400, 3'100);
  const auto data = database.open();
  const auto place = dynamic_cast<const StoredRecords&>(*data->dataset).place(Split::train, 300);
  std::fstream file(database.file(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(place.offset - 16));
  file.write("\1\2\3", 3);
  file.close();
  LoaderRun run(*data->dataset, explicit_yaml("prov"));
  run.loader().start(0, 36);
  run.loader().next();  // 288 to 295
  std::string error;
  EXPECT_EQ(code_of([&] {
              try {
                run.loader().next();
              } catch (const Error& thrown) {
                error = thrown.what();
                throw;
              }
            }),
            ExitCode::data);
  EXPECT_THAT(error, testing::HasSubstr("train/data.mdb is not what it was when it was verified "
                                        "(record 300 is not on page "));
}

TEST(ExplicitReaders, read_databases_whose_pages_were_used_again_and_in_any_order) {
  const WrittenDatabase database([](LmdbDatabase& made) {
    std::vector<std::string> keys;
    for (int64_t round = 0; round < 4; ++round) {
      for (int64_t i = 0; i < 100; ++i) {
        made.put({numbered((i * 37 + round * 11) % 400, 500 + static_cast<size_t>(i) * 90)});
      }
      made.remove({numbered((37 + round * 11) % 400, 0).first});
    }
  });
  const auto data = database.open();
  const int64_t batches = data->dataset->size(Split::train) / 8;
  ASSERT_GT(batches, 20);
  for (const std::string& reader : kExplicit) {
    LoaderRun run(*data->dataset, explicit_yaml(reader));
    EXPECT_EQ(run.digests(0, 0, batches), sync_digests(database, batches)) << reader;
  }
}

TEST(ExplicitReaders, read_through_any_tier) {
  LmdbDatabase made;
  made.write(
      64, 100, [](int64_t i) { return numbered(i, 5'000); }, MDB_APPEND);
  const WrittenDatabase database = appended(64, 5'000);
  const Texts expected = sync_digests(database, 8);
  TestDataset in_memory(make_storage("{type: memory}"));
  put(in_memory.tier(), "train/data.mdb", made.bytes());
  in_memory.build("{type: lmdb, storage: data, values: raw}");
  for (const std::string& reader : kExplicit) {
    EXPECT_EQ(LoaderRun(*in_memory.dataset, explicit_yaml(reader)).digests(0, 0, 8), expected);
    for (const std::string tier : {"direct", "uring"}) {
      const auto data = database.open(tier);
      EXPECT_EQ(LoaderRun(*data->dataset, explicit_yaml(reader)).digests(0, 0, 8), expected)
          << reader << " " << tier;
    }
  }
}

TEST(ExplicitReaders, count_requests_bytes_and_pages) {
  const WrittenDatabase database = appended(400, 3'100);
  const auto costs_of = [&](const std::string& reader, const std::string& more) {
    const auto data = database.open();
    LoaderRun run(*data->dataset,
                  "{type: lmdbio, batch_size: 8, commit: 100, prefetch_batches: 1, "
                  "reader: " +
                      reader + more + "}");
    run.loader().start(0, 0);
    while (run.loader().next()) {
    }
    return run.meter().record_reads().costs().value();
  };
  for (const std::string reader : {"lmm_dio", "prov", "indexed"}) {
    const RecordReadCosts costs = costs_of(reader, ", coalesce: 1");
    // One that was read ahead, of the next epoch, may be among them.
    EXPECT_GE(costs.requests, 50) << reader;
    EXPECT_LE(costs.requests, 52) << reader;
    EXPECT_GE(costs.bytes, 400 * 3'100);
    EXPECT_LT(costs.bytes, 52 * (8 * 4'096 + 4'096 * 2));
    EXPECT_GE(costs.pages_needed, 400);
    EXPECT_GE(costs.pages_fetched, costs.pages_needed);
    EXPECT_LT(costs.pages_fetched, costs.pages_needed + 52 * 2);
  }
  EXPECT_LE(costs_of("coal", ", coalesce: 10").requests, 6);
  EXPECT_LE(costs_of("coal", "").requests, 2);  // 1.2 MB
}

TEST(ExplicitReaders, say_so_where_a_file_is_cut_while_it_is_read) {
  for (const std::string& reader : kExplicit) {
    SCOPED_TRACE(reader);
    const WrittenDatabase database = appended(400, 3'100);
    const auto data = database.open();
    LoaderRun run(*data->dataset, explicit_yaml(reader, ", prefetch_batches: 1"));
    run.loader().start(0, 0);
    EXPECT_TRUE(run.loader().next());
    std::filesystem::resize_file(database.file(), 500'000);
    std::string error;
    const ExitCode code = code_of([&] {
      try {
        while (run.loader().next()) {
        }
      } catch (const Error& thrown) {
        error = thrown.what();
        throw;
      }
    });
    EXPECT_EQ(code, ExitCode::data) << error;
    EXPECT_THAT(
        error, testing::AllOf(testing::HasSubstr("train/data.mdb"), testing::HasSubstr("was cut")));
  }
}

TEST(IndexedReader, tells_the_tier_what_it_will_read_and_reads_just_that) {
  LmdbDatabase made;
  made.write(
      80, 100, [](int64_t i) { return numbered(i, 5'000); }, MDB_APPEND);
  auto tier = std::make_unique<ExpectingStorage>(make_storage("{type: memory}"));
  const ExpectingStorage& told = *tier;
  TestDataset data(std::move(tier));
  put(data.tier(), "train/data.mdb", made.bytes());
  data.build("{type: lmdb, storage: data, values: raw}");
  told.reads();
  told.expected();
  {
    LoaderRun run(*data.dataset, explicit_yaml("indexed", ", prefetch_batches: 1"));
    run.loader().start(0, 0);
    for (int batch = 0; batch < 10; ++batch) run.loader().next();
  }
  // Their keys are gone; there is one.
  const std::vector<ObjectRange> reads = told.reads(), expected = told.expected();
  ASSERT_GE(reads.size(), 10u);
  ASSERT_GE(expected.size(), reads.size());
  for (size_t i = 0; i < reads.size(); ++i) EXPECT_EQ(reads[i].range, expected[i].range) << i;
}

}  // namespace
}  // namespace stoker
