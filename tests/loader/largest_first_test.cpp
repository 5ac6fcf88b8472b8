#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <numeric>
#include <queue>

#include "io/loader/loader.h"
#include "io/loader/sampler.h"
#include "io/metrics/loader_meter.h"
#include "tests/support/fakes.h"

namespace stoker {
namespace {

using Places = std::vector<int32_t>;

// Samples of stated sizes; a sample's bytes are its index.
class Sized final : public Dataset {
 public:
  explicit Sized(std::vector<uint64_t> bytes) : Dataset({}), bytes_(std::move(bytes)) {}
  const std::vector<std::string>& classes() const override { return classes_; }
  int64_t size(Split) const override { return std::ssize(bytes_); }
  SampleInfo info(Split, int64_t index) const override {
    ++asked_;
    return {"sample", 0, bytes_.at(static_cast<size_t>(index))};
  }
  EncodedSample read(Split, int64_t index, Buffer& scratch) const override {
    std::memcpy(scratch.resize(sizeof index), &index, sizeof index);
    return {scratch.bytes(), 0};
  }
  int64_t asked() const { return asked_; }

 private:
  std::vector<std::string> classes_{"a"};
  std::vector<uint64_t> bytes_;
  mutable int64_t asked_ = 0;
};

// Writes a sample's index, and down in which order they came.
class Recording final : public Decoder {
 public:
  SampleSpec spec() const override { return {1, 1, sizeof(int64_t)}; }
  std::unique_ptr<DecoderSession> open() const override {
    struct Session final : DecoderSession {
      explicit Session(const Recording& to) : recording(to) {}
      void decode(Bytes encoded, const DecodeMode&, uint8_t* out) override {
        int64_t index = 0;
        std::memcpy(&index, encoded.data(), sizeof index);
        std::memcpy(out, &index, sizeof index);
        const std::lock_guard lock(recording.mutex_);
        recording.decoded_.push_back(index);
      }
      const Recording& recording;
    };
    return std::make_unique<Session>(*this);
  }
  std::vector<int64_t> decoded() const {
    const std::lock_guard lock(mutex_);
    return decoded_;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::vector<int64_t> decoded_;
};

// The first batch of a loader: its samples by place, and in the order in which they were decoded.
struct FirstBatch {
  FirstBatch(const Dataset& dataset, const std::string& options) {
    Recording decoder;
    FakeDevice device;
    Tracer tracer;
    LoaderMeter meter("train", tracer);
    const Node node = parse_yaml("{type: threaded, digest: true, " + options + "}", "t.yaml");
    const auto loader = Registry<Loader>::global()
                            .parse(Section(node, "", "loader", nullptr))
                            .create({dataset,
                                     decoder,
                                     device.allocator(),
                                     Split::train,
                                     7,
                                     [](const std::string&) {},
                                     meter,
                                     {},
                                     &device});
    loader->start(0, 0);
    const Batch batch = *loader->next();
    places.resize(static_cast<size_t>(batch.size));
    std::memcpy(places.data(), batch.pixels.get(), places.size() * sizeof(int64_t));
    decoded = decoder.decoded();
    digest = batch.digests;
  }
  std::vector<int64_t> places, decoded;
  std::string digest;
};

// When the last of these is done, where each goes to the worker that is free first: as claiming by
// one counter does it, on a clock that nobody has to wait for.
uint64_t makespan(const std::vector<int64_t>& order, const std::vector<uint64_t>& costs,
                  int workers) {
  std::priority_queue<uint64_t, std::vector<uint64_t>, std::greater<>> free;
  for (int i = 0; i < workers; ++i) free.push(0);
  uint64_t last = 0;
  for (const int64_t sample : order) {
    const uint64_t end = free.top() + costs.at(static_cast<size_t>(sample));
    free.pop();
    free.push(end);
    last = std::max(last, end);
  }
  return last;
}

TEST(LargestFirst, is_by_size_and_then_by_place) {
  const Sized data({5, 9, 5, 0, 7, 9});
  LargestFirst order(data, Split::train);
  EXPECT_EQ(order.places(std::vector<int64_t>{0, 1, 2, 3, 4, 5}), (Places{1, 5, 4, 0, 2, 3}));
  EXPECT_EQ(order.places(std::vector<int64_t>{3, 0, 4}), (Places{2, 1, 0}));
  EXPECT_EQ(order.places(std::vector<int64_t>{1, 5}), Places());
  EXPECT_EQ(order.places({}), Places());
}

TEST(LargestFirst, asks_for_a_size_once) {
  const Sized data({5, 9, 0});
  LargestFirst order(data, Split::train);
  for (int epoch = 0; epoch < 3; ++epoch) order.places(std::vector<int64_t>{0, 1, 2});
  EXPECT_EQ(data.asked(), 3);
}

TEST(LargestFirst, sizes_beyond_32_bits_are_the_largest) {
  const Sized data({1, UINT64_MAX, 7, uint64_t{1} << 40});
  LargestFirst order(data, Split::train);
  EXPECT_EQ(order.places(std::vector<int64_t>{0, 1, 2, 3}), (Places{1, 3, 2, 0}));
}

TEST(LargestFirst, a_batch_with_a_large_sample_at_its_end_takes_as_long_as_it_must) {
  // The sample that the sampler puts last costs as much as 21 of the others.
  std::vector<uint64_t> costs(64, 100);
  const FirstBatch even(Sized(costs), "batch_size: 64, workers: 1");
  ASSERT_EQ(even.decoded, even.places);
  costs[static_cast<size_t>(even.places.back())] = 2100;
  const FirstBatch batch(Sized(costs), "batch_size: 64, workers: 1");
  ASSERT_EQ(batch.places, even.places);
  EXPECT_EQ(makespan(batch.places, costs, 4), 1500u + 2100);
  EXPECT_EQ(makespan(batch.decoded, costs, 4), 2100u);
  EXPECT_EQ(makespan(batch.places, costs, 2), 3100u + 2100);
  EXPECT_EQ(makespan(batch.decoded, costs, 2), 4200u);
}

TEST(LargestFirst, changes_no_byte_of_a_batch) {
  std::vector<uint64_t> sizes(200);
  for (size_t i = 0; i < sizes.size(); ++i) sizes[i] = i * i % 83;
  const FirstBatch even(Sized(std::vector<uint64_t>(200, 1)), "batch_size: 50, workers: 1");
  for (const char* workers : {"1", "4"}) {
    const FirstBatch batch(Sized(sizes), std::string("batch_size: 50, workers: ") + workers);
    EXPECT_EQ(batch.places, even.places);
    EXPECT_EQ(batch.digest, even.digest);
  }
}

TEST(LargestFirst, is_that_of_the_data_set_where_nothing_is_shuffled) {
  std::vector<uint64_t> sizes(64);
  std::iota(sizes.begin(), sizes.end(), 1);
  const FirstBatch batch(Sized(sizes), "batch_size: 64, workers: 1, shuffle: false");
  EXPECT_TRUE(std::is_sorted(batch.decoded.begin(), batch.decoded.end()));
}

}  // namespace
}  // namespace stoker
