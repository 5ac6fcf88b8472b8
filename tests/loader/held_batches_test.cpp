#include <gtest/gtest.h>

#include "io/loader/loader.h"
#include "io/metrics/loader_meter.h"
#include "tests/support/errors.h"
#include "tests/support/fakes.h"

// What callers may hold of the batches that a loader gave them.

namespace stoker {
namespace {

// Batches of 8 samples of 16 bytes.
struct HeldBatches : ::testing::TestWithParam<const char*> {
  std::unique_ptr<Loader> make(uint64_t may_hold) {
    auto loader =
        parse_component<Loader>(parse_yaml(std::string("{type: ") + GetParam() +
                                               ", batch_size: 8, workers: 2, prefetch_batches: 3}",
                                           "t.yaml"))
            .create({.dataset = dataset,
                     .decoder = decoder,
                     .allocate = [](size_t bytes) { return allocate_huge(bytes, true); },
                     .split = Split::train,
                     .seed = 7,
                     .notify = [](const std::string&) {},
                     .meter = meter,
                     .may_hold = may_hold});
    loader->start(0, 0);
    return loader;
  }
  FakeDataset dataset{100};
  FakeDecoder decoder{true, {}};
  Tracer tracer;
  LoaderMeter meter{"train", tracer};
};

TEST_P(HeldBatches, that_are_too_many_are_an_error_and_once_they_are_fewer_the_epoch_goes_on) {
  const auto loader = make(6 * 128);
  std::vector<Batch> held;
  for (int i = 0; i < 6; ++i) held.push_back(*loader->next());
  const std::string error =
      "loader: 6 batches (0.0 MB) are still held, and with one more they are above the 0.0 MB that "
      "may be: let go of batches, copy what is to be kept, or allow more";
  EXPECT_EQ(error_of([&] { loader->next(); }), error);
  EXPECT_EQ(error_of([&] { loader->next(); }), error);
  held.erase(held.begin());
  held.push_back(*loader->next());
  EXPECT_EQ(held.back().index, 6);
  EXPECT_EQ(error_of([&] { loader->next(); }), error);
}

TEST_P(HeldBatches, may_be_four_however_large_they_are) {
  const auto loader = make(1);
  std::vector<Batch> held;
  for (int i = 0; i < 4; ++i) held.push_back(*loader->next());
  EXPECT_EQ(held.back().index, 3);
  EXPECT_NE(error_of([&] { loader->next(); }), "");
}

TEST_P(HeldBatches, without_a_limit_may_be_all_of_an_epoch_and_outlive_the_loader) {
  std::vector<Batch> held;
  {
    const auto loader = make(std::numeric_limits<uint64_t>::max());
    while (auto batch = loader->next()) held.push_back(*batch);
  }
  ASSERT_EQ(held.size(), 12u);
  int64_t sum = 0;
  for (const Batch& batch : held) {
    for (int64_t i = 0; i < batch.size; ++i) {
      int64_t index = 0;
      std::memcpy(&index, batch.pixels.get() + i * 16, sizeof index);
      EXPECT_EQ((*batch.labels)[static_cast<size_t>(i)], index % 3);
      sum += index;
    }
  }
  EXPECT_GT(sum, 0);
}

INSTANTIATE_TEST_SUITE_P(Loaders, HeldBatches,
                         ::testing::Values("sync", "threaded", "threaded, samples_ahead: 3",
                                           "threaded, samples_ahead: 20", "prefetched"));

}  // namespace
}  // namespace stoker
