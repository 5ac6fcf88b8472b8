#include <gtest/gtest.h>

#include "io/loader/loader.h"
#include "io/metrics/loader_meter.h"
#include "tests/support/fakes.h"

// loader.samples_ahead changes nothing but the time.

namespace stoker {
namespace {

struct MappedSamples {
  std::unique_ptr<Loader> make(const std::string& options, Shard shard = {}) {
    return parse_component<Loader>(
               parse_yaml("{batch_size: 8, digest: true, drop_last: false, " + options + "}",
                          "t.yaml"))
        .create({dataset, decoder, device.allocator(), Split::train, 7, {}, meter, shard});
  }
  FakeDataset dataset{50};
  FakeDecoder decoder;
  FakeDevice device;
  Tracer tracer;
  LoaderMeter meter{"train", tracer};
};

std::vector<std::string> digests_of(Loader& loader, int64_t first, int64_t count) {
  std::vector<std::string> digests;
  for (int64_t epoch = first; epoch < first + count; ++epoch) {
    loader.start(epoch, 0);
    while (const auto batch = loader.next()) digests.push_back(batch->digests);
  }
  return digests;
}

class SamplesAhead : public ::testing::TestWithParam<std::string> {};

TEST_P(SamplesAhead, any_number_gives_the_batches_of_sync) {
  MappedSamples reference;
  const auto expected = digests_of(*reference.make("type: sync, order: " + GetParam()), 0, 3);
  for (const int workers : {1, 4}) {
    for (const int ahead : {0, 1, 4, 8, 13, 200}) {
      MappedSamples mapped;
      const auto loader =
          mapped.make("type: threaded, workers: " + std::to_string(workers) +
                      ", samples_ahead: " + std::to_string(ahead) + ", order: " + GetParam());
      EXPECT_EQ(digests_of(*loader, 0, 3), expected) << ahead;
      // Resumes: starts elsewhere while workers are at what is ahead.
      for (const int64_t first : {5, 2}) {
        loader->start(1, first);
        const auto batch = loader->next();
        ASSERT_TRUE(batch);
        EXPECT_EQ(batch->digests, expected[static_cast<size_t>(loader->batches() + first)]);
      }
    }
  }
}

TEST_P(SamplesAhead, ranks_have_the_same_parts_with_it) {
  for (const int64_t rank : {0, 1, 2}) {
    MappedSamples plain, mapped;
    const Shard shard{rank, 3};
    const std::string order = ", workers: 2, order: " + GetParam();
    EXPECT_EQ(digests_of(*plain.make("type: threaded" + order, shard), 0, 2),
              digests_of(*mapped.make("type: threaded, samples_ahead: 5" + order, shard), 0, 2));
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, SamplesAhead,
                         ::testing::Values("permutation", "window, window: 20",
                                           "shards, window: 12", "global_files"));

}  // namespace
}  // namespace stoker
