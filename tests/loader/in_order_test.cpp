#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <thread>

#include "io/core/random.h"
#include "io/core/threads.h"
#include "io/loader/loader.h"
#include "io/metrics/loader_meter.h"
#include "tests/support/errors.h"
#include "tests/support/fakes.h"

// loader.in_order: false fills batches by what is ready.

namespace stoker {
namespace {

struct ReadySamples {
  explicit ReadySamples(FakeDataset data = FakeDataset(50)) : dataset(std::move(data)) {}
  std::unique_ptr<Loader> make(const std::string& options, Shard shard = {},
                               Split split = Split::train) {
    return parse_component<Loader>(
               parse_yaml("{batch_size: 8, in_order: false, drop_last: false, " + options + "}",
                          "t.yaml"))
        .create({dataset, decoder, device.allocator(), split, 7, [](const std::string&) {}, meter,
                 shard, &device});
  }
  FakeDataset dataset;
  FakeDecoder decoder;
  FakeDevice device{false};
  Tracer tracer;
  LoaderMeter meter{"train", tracer};
};

constexpr const char* kPrefetched = "type: prefetched, workers: 4, prefetch_batches: 3";

// Adds the samples of a batch. Each has its label, and the crop of its epoch.
void add_samples(const Batch& batch, std::vector<int64_t>& samples) {
  if (batch.filler) return;
  for (int64_t i = 0; i < batch.size; ++i) {
    int64_t index = 0;
    uint64_t crop = 0;
    std::memcpy(&index, batch.pixels.get() + i * 16, sizeof index);
    std::memcpy(&crop, batch.pixels.get() + i * 16 + 8, sizeof crop);
    EXPECT_EQ((*batch.labels)[static_cast<size_t>(i)], index % 3);
    EXPECT_EQ(crop, mix(7, static_cast<uint64_t>(batch.epoch), static_cast<uint64_t>(index)));
    samples.push_back(index);
  }
}

std::vector<int64_t> samples_of(Loader& loader, int64_t epoch, int64_t first = 0) {
  loader.start(epoch, first);
  std::vector<int64_t> samples;
  while (const auto batch = loader.next()) add_samples(*batch, samples);
  return samples;
}

void expect_each_once(std::vector<int64_t> samples) {
  std::vector<int64_t> all(50);
  std::iota(all.begin(), all.end(), 0);
  std::sort(samples.begin(), samples.end());
  EXPECT_EQ(samples, all);
}

class ReadySamplesOf : public ::testing::TestWithParam<std::string> {};

TEST_P(ReadySamplesOf, an_epoch_has_each_sample_once) {
  for (const std::string more : {"workers: 1", "workers: 4", "workers: 4, digest: true"}) {
    ReadySamples ready;
    const auto loader = ready.make("type: " + GetParam() + ", prefetch_batches: 3, " + more);
    for (int64_t epoch = 0; epoch < 4; ++epoch) expect_each_once(samples_of(*loader, epoch));
    EXPECT_EQ(samples_of(*loader, 1, 5).size(), 10u);
    expect_each_once(samples_of(*loader, 2));
  }
}

INSTANTIATE_TEST_SUITE_P(Types, ReadySamplesOf,
                         ::testing::Values("prefetched", "device_prefetched"));

TEST(ReadySamplesAhead, no_batch_but_the_last_waits_for_a_sample_that_hangs) {
  ReadySamples probe;  // one worker has nobody to exchange places with
  const std::string alone = "type: prefetched, workers: 1, order: window, window: 20";
  const int64_t slow = samples_of(*probe.make(alone), 0)[2];
  FakeDataset data(50);
  data.hang(slow);
  ReadySamples ready(data);
  const auto loader = ready.make(kPrefetched + std::string(", order: window, window: 20"));
  loader->start(0, 0);
  std::vector<int64_t> samples;
  for (int64_t batch = 0; batch + 1 < loader->batches(); ++batch)
    add_samples(*loader->next(), samples);
  EXPECT_EQ(std::count(samples.begin(), samples.end(), slow), 0);
  data.hang(-1);
  while (const auto batch = loader->next()) add_samples(*batch, samples);
  expect_each_once(samples);
}

TEST(ReadySamplesAhead, can_be_started_elsewhere_and_destroyed_while_samples_hang) {
  FakeDataset data(50);
  ReadySamples ready(data);
  for (int64_t slow = 0; slow < 10; ++slow) {
    const auto loader = ready.make(kPrefetched);
    data.hang(slow);
    loader->start(slow, 0);
    EXPECT_TRUE(loader->next());
    loader->start(slow, 3);
    EXPECT_TRUE(loader->next());
  }
}

TEST(ReadySamplesAhead, a_bad_sample_is_replaced_or_ends_the_epoch) {
  ReadySamples skipping(FakeDataset(50, {3, 17}, OnError{ErrorPolicy::skip, {}}));
  const auto loader = skipping.make(kPrefetched);
  loader->start(0, 0);
  std::vector<std::string> skipped;
  while (const auto batch = loader->next()) {
    for (const SkippedSample& sample : batch->skipped) {
      EXPECT_EQ(sample.batch, batch->index);
      skipped.push_back(sample.key);
    }
  }
  std::sort(skipped.begin(), skipped.end());
  EXPECT_EQ(skipped, (std::vector<std::string>{"sample/17", "sample/3"}));

  ReadySamples failing(FakeDataset(50, {3}));
  const auto other = failing.make(kPrefetched);
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    EXPECT_NE(error_of([&] { samples_of(*other, epoch); }).find("sample/3: corrupt"),
              std::string::npos);
  }
}

TEST(ReadySamplesAhead, ranks_have_each_sample_once_and_fillers_none) {
  for (const Split split : {Split::train, Split::test}) {
    std::vector<int64_t> samples;
    for (const int64_t rank : {0, 1, 2, 3}) {  // the last batch has 2 samples
      ReadySamples ready;
      const auto loader = ready.make(kPrefetched, {rank, 4}, split);
      loader->start(0, 0);
      while (const auto batch = loader->next()) {
        if (batch->filler) continue;
        for (int64_t i = 0; i < batch->size; ++i) {
          samples.push_back(0);
          std::memcpy(&samples.back(), batch->pixels.get() + i * 16, sizeof(int64_t));
        }
      }
    }
    expect_each_once(samples);
  }
}

TEST(ReadySamplesAhead, is_refused_where_one_batch_is_filled_at_a_time) {
  for (const std::string type : {"sync", "threaded", "device_resident"}) {
    ReadySamples ready;
    EXPECT_NE(error_of([&] {
                ready.make("type: " + type);
              }).find("'in_order' can be false only where several batches are filled at a time"),
              std::string::npos)
        << type;
  }
}

}  // namespace
}  // namespace stoker
