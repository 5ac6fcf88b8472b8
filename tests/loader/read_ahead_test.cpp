#include <gtest/gtest.h>

#include <thread>

#include "io/loader/failure_budget.h"
#include "io/loader/loader.h"
#include "io/metrics/loader_meter.h"
#include "tests/support/errors.h"
#include "tests/support/fakes.h"

// How far each loader reads ahead: the one thing in which they differ.

namespace stoker {
namespace {

struct ReadAheadSetup {
  explicit ReadAheadSetup(bool own_memory = true) : device(own_memory) {}
  std::unique_ptr<Loader> make(const std::string& options) {
    const std::string batch =
        options.find("batch_size") == std::string::npos ? "batch_size: 5, " : "";
    const Node node = parse_yaml("{" + batch + "workers: 3, " + options + "}", "t.yaml");
    return Registry<Loader>::global()
        .parse(Section(node, "", "loader", nullptr))
        .create({dataset,
                 decoder,
                 device.allocator(),
                 Split::train,
                 7,
                 [this](const std::string& text) { remark = text; },
                 meter,
                 {},
                 &device});
  }
  // Waits until nothing moves any more.
  int64_t settled() {
    int64_t before = -1;
    while (before != decoder.decoded() + device.copies()) {
      before = decoder.decoded() + device.copies();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return decoder.decoded();
  }
  FakeDataset dataset{40};
  Tracer tracer;
  LoaderMeter meter{"train", tracer};
  FakeDecoder decoder;
  FakeDevice device;
  std::string remark;
};

TEST(ReadAhead, sync_and_threaded_decode_only_what_is_asked_for) {
  for (const char* type : {"sync", "threaded"}) {
    ReadAheadSetup setup;
    const auto loader = setup.make(std::string("type: ") + type);
    loader->start(0, 0);
    EXPECT_EQ(setup.settled(), 0) << type;
    loader->next();
    EXPECT_EQ(setup.settled(), 5) << type;
  }
}

TEST(ReadAhead, threaded_holds_samples_ahead_of_the_batch_at_hand) {
  for (const int64_t ahead : {1, 3, 5, 7, 15, 22}) {
    ReadAheadSetup setup;
    const auto loader = setup.make("type: threaded, samples_ahead: " + std::to_string(ahead));
    loader->start(0, 0);
    EXPECT_EQ(setup.settled(), ahead);
    for (int64_t taken = 5; taken <= 20; taken += 5) {
      loader->next();
      EXPECT_EQ(setup.settled(), taken + ahead);
    }
    loader->start(0, 2);  // elsewhere: what was ahead is lost
    EXPECT_EQ(setup.settled(), 20 + ahead + ahead);
    while (loader->next()) continue;
    EXPECT_EQ(setup.settled(), 20 + ahead + 30 + ahead);
    loader->start(1, 0);  // where it is: nothing is lost
    EXPECT_EQ(setup.settled(), 20 + ahead + 30 + ahead);
  }
}

// The last batch is smaller than what is ahead of it.
TEST(ReadAhead, samples_ahead_reach_over_a_batch_that_is_not_full) {
  ReadAheadSetup setup;
  const auto loader =
      setup.make("type: threaded, samples_ahead: 8, drop_last: false, batch_size: 19");
  loader->start(0, 0);
  loader->next();
  EXPECT_EQ(setup.settled(), 27);
  loader->next();
  EXPECT_EQ(setup.settled(), 38 + 8);  // 2 of this epoch, 6 of the next one
  EXPECT_EQ(loader->next()->size, 2);
  EXPECT_EQ(setup.settled(), 40 + 8);
}

TEST(ReadAhead, prefetched_holds_prefetch_batches_ready) {
  ReadAheadSetup setup;
  const auto loader = setup.make("type: prefetched, prefetch_batches: 3");
  loader->start(0, 0);
  EXPECT_EQ(setup.settled(), 15);
  loader->next();
  EXPECT_EQ(setup.settled(), 20);
}

TEST(ReadAhead, prefetched_reads_over_the_end_of_the_epoch) {
  ReadAheadSetup setup;
  const auto loader = setup.make("type: prefetched, prefetch_batches: 3");
  loader->start(0, 0);
  while (loader->next()) {
  }
  EXPECT_EQ(setup.settled(), 40 + 15);
  loader->start(1, 0);
  EXPECT_EQ(setup.settled(), 40 + 15);
}

TEST(ReadAhead, filled_apart_nothing_is_read_before_its_epoch) {
  ReadAheadSetup setup;
  const auto loader = setup.make("type: prefetched, prefetch_batches: 3, filling: apart");
  for (const int64_t epoch : {0, 1}) {
    loader->start(epoch, 0);
    EXPECT_EQ(setup.settled(), 40 * epoch + 15);
    for (int64_t i = 0; i < loader->batches(); ++i) {
      const auto batch = loader->next();
      ASSERT_TRUE(batch);
      EXPECT_EQ(batch->epoch * 100 + batch->index, epoch * 100 + i);
    }
    EXPECT_EQ(setup.settled(), 40 * (epoch + 1));
    if (epoch == 0) {  // asked or not asked for the end
      EXPECT_FALSE(loader->next());
    }
  }
  loader->start(2, 3);
  EXPECT_EQ(loader->next()->index, 3);
}

// A trainer counts its batches, and never asks for the one that is not there.
TEST(ReadAhead, what_is_ahead_stays_where_nobody_asked_for_the_end_of_the_epoch) {
  for (const char* options : {"type: prefetched, prefetch_batches: 3",
                              "type: device_prefetched, prefetch_batches: 3, device_batches: 2"}) {
    ReadAheadSetup setup;
    const auto loader = setup.make(options);
    loader->start(0, 0);
    for (int64_t i = 0; i < loader->batches(); ++i) EXPECT_TRUE(loader->next());
    const int64_t decoded = setup.settled();
    EXPECT_GT(decoded, 40) << options;
    loader->start(1, 0);
    // On the device the mark of the epoch's end gives its place to one more batch.
    EXPECT_LE(setup.settled(), decoded + 5) << options;
    const auto batch = loader->next();
    ASSERT_TRUE(batch) << options;
    EXPECT_EQ(batch->epoch, 1) << options;
    EXPECT_EQ(batch->index, 0) << options;
  }
}

TEST(ReadAhead, device_prefetched_also_holds_device_batches_on_the_device) {
  ReadAheadSetup setup;
  const auto loader = setup.make("type: device_prefetched, prefetch_batches: 3, device_batches: 2");
  loader->start(0, 0);
  EXPECT_EQ(setup.settled(), 25);
  EXPECT_EQ(setup.device.copies(), 2);
  EXPECT_NE(loader->next()->on_device, nullptr);
}

TEST(ReadAhead, device_prefetched_on_a_device_without_memory_says_so_and_is_prefetched) {
  ReadAheadSetup setup(false);
  const auto loader = setup.make("type: device_prefetched, prefetch_batches: 3");
  EXPECT_EQ(setup.remark,
            "device_prefetched: fake has no memory of its own, so batches stay in host memory as "
            "with prefetched");
  loader->start(0, 0);
  EXPECT_EQ(setup.settled(), 15);
  EXPECT_EQ(loader->next()->on_device, nullptr);
  EXPECT_EQ(setup.device.copies(), 0);
}

int64_t ready(const ReadAheadSetup& setup) { return setup.meter.state().queues.at(0).items; }

TEST(ReadAhead, the_queue_meter_counts_finished_batches) {
  ReadAheadSetup setup;
  const auto loader = setup.make("type: prefetched, prefetch_batches: 3");
  loader->start(0, 0);
  setup.settled();
  EXPECT_EQ(ready(setup), 3);
  EXPECT_EQ(setup.meter.state().queues.at(0).capacity, 3);
  const auto held = loader->next();
  setup.settled();
  EXPECT_EQ(ready(setup), 3);
  loader->start(5, 2);  // drops what was ahead
  setup.settled();
  EXPECT_EQ(ready(setup), 3);
  while (loader->next()) {
    EXPECT_GE(ready(setup), 0);
    EXPECT_LE(ready(setup), 3);
  }
}

TEST(ReadAhead, the_meter_counts_every_sample_and_worker) {
  for (const char* type : {"sync", "threaded", "prefetched", "device_prefetched"}) {
    ReadAheadSetup setup;
    {
      const auto loader = setup.make(std::string("type: ") + type);
      loader->start(0, 0);
      while (loader->next()) continue;
      setup.settled();
      const LoaderMeter::State state = setup.meter.state();
      EXPECT_EQ(state.stages[static_cast<size_t>(Stage::decode)].count, setup.decoder.decoded())
          << type;
      EXPECT_EQ(state.workers, std::string(type) == "sync" ? 1 : 3) << type;
    }
    EXPECT_EQ(setup.meter.state().workers, 0) << type;
    EXPECT_EQ(setup.meter.state().busy, 0) << type;
    EXPECT_TRUE(setup.meter.state().queues.empty()) << type;
  }
}

TEST(ReadAhead, a_batch_larger_than_the_data_set_is_an_error) {
  ReadAheadSetup setup;
  const Node node = parse_yaml("{type: sync, batch_size: 41}", "t.yaml");
  const auto component = Registry<Loader>::global().parse(Section(node, "", "loader", nullptr));
  EXPECT_EQ(error_of([&] {
              component.create({setup.dataset,
                                setup.decoder,
                                setup.device.allocator(),
                                Split::train,
                                7,
                                {},
                                setup.meter});
            }),
            "loader: batch_size 41 is larger than the 40 training samples: use a smaller "
            "batch_size, or drop_last: false");
}

Batch with_bad(std::vector<std::string> keys) {
  Batch batch;
  for (const std::string& key : keys) {
    batch.skipped.push_back({0, 0, key, BadReason::truncated, "", "x"});
  }
  return batch;
}

TEST(FailureBudget, counts_different_samples_and_names_them) {
  FailureBudget budget(2);
  budget.account(with_bad({"a.jpg", "b.jpg"}));
  budget.account(with_bad({"a.jpg"}));
  EXPECT_EQ(budget.counts().by_reason.at("truncated"), 3);
  EXPECT_EQ(
      error_of([&] { budget.account(with_bad({"c.jpg"})); }),
      "dataset: 3 bad samples, more than dataset.on_error.budget allows (2): repair or remove "
      "them, or raise the budget\n  a.jpg: truncated\n  b.jpg: truncated\n  c.jpg: "
      "truncated");
  EXPECT_EQ(budget.skipped().size(), 4u);
}

TEST(FailureBudget, lists_tolerated_samples_once_and_counts_each_time) {
  FailureBudget budget(0);
  budget.resume({.bad = {}, .by_reason = {}, .tolerated = 5});
  Batch batch;
  batch.tolerated = {{"a.jpg", "bad Huffman code"}, {"b.jpg", "premature end"}};
  budget.account(batch);
  batch.tolerated.pop_back();
  budget.account(batch);
  EXPECT_EQ(budget.counts().tolerated, 5 + 3);
  ASSERT_EQ(budget.tolerated().size(), 2u);
  EXPECT_EQ(budget.tolerated().at("a.jpg").times, 2);
  EXPECT_EQ(budget.tolerated().at("a.jpg").message, "bad Huffman code");
}

}  // namespace
}  // namespace stoker
