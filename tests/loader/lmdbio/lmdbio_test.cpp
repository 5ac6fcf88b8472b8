#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "io/core/threads.h"
#include "io/loader/lmdbio/group_order.h"
#include "io/loader/lmdbio/lmdbio_options.h"
#include "tests/support/errors.h"
#include "tests/support/lmdbio_runs.h"
#include "tests/support/short_tests.h"

// All readers give the records that the baseline gives, which are those that `sync` reads.

namespace stoker {
namespace {

using Texts = std::vector<std::string>;

// Ranks that read together.
struct Ranks {
  int64_t world = 1;
  int64_t node_size = 0;
  int64_t coalesce = 1;
};

std::string sync_yaml(const std::string& more = "") {
  return "{type: sync, shuffle: false, batch_size: 8, digest: true" + more + "}";
}
std::string lmdbio_yaml(const std::string& reader, const Ranks& ranks, const std::string& more) {
  return fmt::format(
      "{{type: lmdbio, reader: {}, node_size: {}, coalesce: {}, batch_size: 8, digest: true, "
      "prefetch_batches: 2{}}}",
      reader, ranks.node_size, ranks.coalesce, more);
}

// The digests that GroupOrder promises: those of single samples, in its order.
Texts expected(const DatabaseOnDisk& database, const Ranks& ranks, int64_t batches) {
  const auto data = database.open();
  const int64_t records = data->dataset->size(Split::train);
  LoaderRun run(*data->dataset, sync_yaml(", drop_last: false"));
  std::string samples;
  for (const std::string& batch : run.digests(0, 0, (records + 7) / 8)) samples += batch;
  const int64_t node_size = ranks.node_size == 0 ? ranks.world : ranks.node_size;
  const GroupOrder order(records, 8, batches, ranks.world, node_size, ranks.coalesce);
  Texts whole;
  for (int64_t batch = 0; batch < batches; ++batch) {
    std::string digests;
    for (int64_t rank = 0; rank < ranks.world; ++rank) {
      const Records own = order.of_rank(batch, rank);
      digests += samples.substr(static_cast<size_t>(own.first) * kSampleDigestBytes,
                                static_cast<size_t>(own.count()) * kSampleDigestBytes);
    }
    whole.push_back(digests);
  }
  return whole;
}

// What the ranks load, each a process, put together.
Texts loaded(const DatabaseOnDisk& database, const std::string& reader, const Ranks& ranks,
             int64_t epoch, int64_t batch, int64_t count, const std::string& more = "",
             Split split = Split::train) {
  const TemporaryDirectory meetings;
  return whole_batches(in_processes(ranks.world, [&](int64_t rank) {
    const auto data = database.open();
    LoaderRun run(*data->dataset, lmdbio_yaml(reader, ranks, more), {rank, ranks.world},
                  group_in(meetings.path(), rank, ranks.world), split);
    return packed(run.digests(epoch, batch, count));
  }));
}

std::vector<size_t> sizes_of(int64_t count, size_t least, size_t most) {
  std::vector<size_t> sizes;
  Random random(9);
  for (int64_t i = 0; i < count; ++i) sizes.push_back(least + random.below(most - least + 1));
  return sizes;
}

class Readers : public ::testing::TestWithParam<std::string> {};

TEST_P(Readers, give_the_batches_of_the_baseline_whatever_the_ranks_and_nodes) {
  const DatabaseOnDisk database(sizes_of(45, 0, 9000));
  const std::vector<Ranks> all = {{1, 0, 1}, {1, 0, 4}, {2, 0, 1}, {2, 1, 4},
                                  {4, 2, 1}, {4, 1, 4}, {3, 2, 2}};
  for (size_t i = 0; i < all.size(); i += stride(3)) {
    const Ranks& ranks = all[i];
    SCOPED_TRACE(fmt::format("{} ranks, {} a node, {} together", ranks.world, ranks.node_size,
                             ranks.coalesce));
    const Texts once = expected(database, ranks, 5);
    Texts twice = once;
    twice.insert(twice.end(), once.begin(), once.end());
    EXPECT_EQ(loaded(database, GetParam(), ranks, 0, 0, 10), twice);
  }
}

TEST_P(Readers, give_the_batches_of_sync_where_they_lie_alone) {
  const DatabaseOnDisk database(sizes_of(45, 1, 9000));
  const auto data = database.open();
  for (const std::string more : {"", ", drop_last: false"}) {
    const Texts all = LoaderRun(*data->dataset, sync_yaml(more)).digests(0, 0, 12);
    EXPECT_EQ(loaded(database, GetParam(), {2, 1, 1}, 0, 0, 12, more), all);
    EXPECT_EQ(loaded(database, GetParam(), {6, 3, 1}, 0, 0, 12, more), all);
  }
}

TEST_P(Readers, go_through_values_in_leaves_on_a_page_and_on_many) {
  for (const auto& [least, most] :
       std::vector<std::pair<size_t, size_t>>{{0, 400}, {3000, 3100}, {180'000, 200'000}}) {
    SCOPED_TRACE(most);
    const DatabaseOnDisk database(sizes_of(40, least, most));
    const Ranks ranks{4, 2, 2};
    EXPECT_EQ(loaded(database, GetParam(), ranks, 0, 0, 5), expected(database, ranks, 5));
  }
}

TEST_P(Readers, begin_anywhere_also_between_batches_that_lie_together) {
  const DatabaseOnDisk database(sizes_of(70, 100, 5000));
  const Ranks ranks{4, 2, 4};
  const Texts all = expected(database, ranks, 8);
  for (const int64_t first : {2, 4, 5, 7}) {
    Texts rest(all.begin() + first, all.end());
    rest.insert(rest.end(), all.begin(), all.begin() + 3);
    EXPECT_EQ(loaded(database, GetParam(), ranks, 1, first, std::ssize(rest)), rest) << first;
  }
}

TEST_P(Readers, start_again_where_they_are_told_to) {
  const DatabaseOnDisk database(sizes_of(45, 100, 5000));
  const Ranks ranks{2, 1, 2};
  const Texts all = expected(database, ranks, 5);
  const TemporaryDirectory meetings;
  const Texts seen = whole_batches(in_processes(2, [&](int64_t rank) {
    const auto data = database.open();
    LoaderRun run(*data->dataset, lmdbio_yaml(GetParam(), ranks, ""), {rank, 2},
                  group_in(meetings.path(), rank, 2));
    Texts batches = run.digests(0, 0, 2);
    for (const auto& [epoch, batch] : std::vector<std::pair<int64_t, int64_t>>{{3, 1}, {0, 3}}) {
      for (std::string& next : run.digests(epoch, batch, 2)) batches.push_back(std::move(next));
    }
    return packed(batches);
  }));
  EXPECT_EQ(seen, (Texts{all[0], all[1], all[1], all[2], all[3], all[4]}));
}

TEST_P(Readers, replace_bad_samples_as_sync_does) {
  std::vector<size_t> sizes = sizes_of(45, 100, 5000);
  for (const size_t bad : {3, 11, 12, 30}) sizes[bad] = 6000;
  const std::string limit = ", max_sample_bytes: 5500";
  const DatabaseOnDisk database(sizes, limit + ", on_error: {policy: skip}");
  const auto data = database.open();
  LoaderRun sync(*data->dataset, sync_yaml());
  const Texts all = sync.digests(0, 0, 10);
  EXPECT_EQ(
      sync.skipped(),
      "cat/3.jpg dog/11.jpg cat/12.jpg cat/30.jpg cat/3.jpg dog/11.jpg cat/12.jpg cat/30.jpg ");
  EXPECT_EQ(loaded(database, GetParam(), {2, 0, 1}, 0, 0, 10), all);
}

TEST_P(Readers, end_at_a_bad_sample_after_the_batches_before_it) {
  std::vector<size_t> sizes = sizes_of(45, 100, 5000);
  sizes[17] = 6000;  // the second rank's
  sizes[22] = 6000;
  const DatabaseOnDisk database(sizes, ", max_sample_bytes: 5500");
  const TemporaryDirectory meetings;
  const Texts seen = in_processes(2, [&](int64_t rank) {
    const auto data = database.open();
    LoaderRun run(*data->dataset, lmdbio_yaml(GetParam(), {2, 2, 1}, ""), {rank, 2},
                  group_in(meetings.path(), rank, 2));
    std::string text;
    for (int round = 0; round < 2; ++round) {
      run.loader().start(0, 0);
      for (int batch = 0; batch < 2; ++batch)
        text += run.loader().next()->index == batch ? "y" : "n";
      text += error_of([&] {
                while (run.loader().next()) {
                }
              }) +
              "; ";
    }
    return text;
  });
  const std::string bad =
      "too_large: it has 6000 bytes, above 5500 (dataset.max_sample_bytes) (repair or remove the "
      "file, or set dataset.on_error={policy: skip})";
  EXPECT_THAT(seen[0], testing::AnyOf(testing::HasSubstr("yydataset: dog/17.jpg: " + bad)));
  EXPECT_THAT(seen[1], testing::AnyOf(testing::HasSubstr("dataset: dog/22.jpg: " + bad),
                                      testing::HasSubstr("loader: rank 0: dataset: dog/17.jpg")));
}

// The other rank comes to the group's meeting, or has died before, and then reads nothing.
TEST_P(Readers, who_waits_for_another_rank_can_be_told_to_give_up) {
  for (const bool meets : {false, true}) {
    const DatabaseOnDisk database(sizes_of(45, 100, 5000));
    const TemporaryDirectory meetings;
    std::atomic<bool> over = false;
    const auto rank = [&](int64_t number) {
      const auto data = database.open();
      LoaderRun run(*data->dataset, lmdbio_yaml(GetParam(), {2, 2, 1}, ""), {number, 2},
                    group_in(meetings.path(), number, 2));
      if (number == 0 || meets) run.loader().start(0, 0);
      if (number == 1) {
        while (!over) std::this_thread::yield();
        return;
      }
      std::jthread trainer([&](const std::stop_token& stop) {
        const Interruptible scope(stop);
        EXPECT_THROW(
            for (int64_t epoch = 0;; run.loader().start(++epoch, 0)) {
              while (run.loader().next()) {
              }
            },
            Interrupted);
      });
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      trainer.request_stop();
    };
    std::jthread other(rank, 1);
    rank(0);
    over = true;
  }
}

TEST_P(Readers, say_what_they_cost) {
  const DatabaseOnDisk database(sizes_of(48, 4000, 12'000));
  const auto data = database.open();
  LoaderRun run(*data->dataset, lmdbio_yaml(GetParam(), {1, 0, 1}, ""));
  const Texts batches = run.digests(0, 0, 6);
  EXPECT_EQ(batches, expected(database, {1, 0, 1}, 6));
  const RecordReadCosts costs = run.meter().record_reads().costs().value();
  EXPECT_GT(costs.wall_s, 0);
  EXPECT_GT(costs.opening_s, 0);
  EXPECT_GE(costs.pages_needed, 6 * 8 * 2);  // at least two each, and more ahead
  const LoaderMeter::State state = run.meter().state();
  EXPECT_GE(state.of(Stage::decode).count, 48);
  EXPECT_GE(state.of(Stage::read).count, 48 + 6);
  uint64_t bytes = 0;
  for (int64_t i = 0; i < 48; ++i) bytes += data->dataset->info(Split::train, i).bytes;
  EXPECT_GE(state.of(Stage::read).bytes, bytes);
  EXPECT_LE(state.of(Stage::read).bytes, 2 * bytes);
}

TEST_P(Readers, count_entries_and_refuse_those_that_are_no_sample_or_go_by_places) {
  LmdbDatabase database;
  database.put({{"__len__", "2"}, {"cat/1", "one"}, {"cat/2", "two"}});
  TestDataset data(make_storage("{type: memory}"));
  put(data.tier(), "train/data.mdb", database.bytes());
  data.build("{type: lmdb, storage: data}");
  const auto digests = [&](const std::string& yaml) {
    return LoaderRun(*data.dataset, yaml).digests(0, 0, 1);
  };
  const std::string own = lmdbio_yaml(GetParam(), {}, ", drop_last: false");
  if (GetParam() == "indexed") {
    EXPECT_EQ(digests(own), digests(sync_yaml(", drop_last: false")));
  } else {
    EXPECT_EQ(error_of([&] { digests(own); }),
              "loader: reader " + GetParam() +
                  " reads all entries of a database, and 1 of train/data.mdb is no sample: set "
                  "loader.reader=indexed, or use another loader");
  }
}

Texts reader_names() {
  Texts names;
  for (const auto& [name, reader] : enum_names(LmdbReader())) names.emplace_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, Readers, ::testing::ValuesIn(reader_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace stoker
