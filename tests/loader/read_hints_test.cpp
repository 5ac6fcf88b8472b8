#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "io/loader/loader.h"
#include "io/metrics/loader_meter.h"
#include "tests/support/fakes.h"

// What a loader tells its data set before its workers read.

namespace stoker {
namespace {

// Samples in files of 10 that know what was announced.
class HintedDataset final : public Dataset {
 public:
  HintedDataset() : Dataset(OnError{}) {}
  const std::vector<std::string>& classes() const override { return inner_.classes(); }
  int64_t size(Split split) const override { return inner_.size(split); }
  SampleInfo info(Split split, int64_t index) const override {
    SampleInfo info = inner_.info(split, index);
    info.file = index / 10;
    return info;
  }
  EncodedSample read(Split split, int64_t index, Buffer& scratch) const override {
    {
      const std::lock_guard lock(mutex_);
      if (--coming_[index] < 0) unannounced_.push_back(index);
    }
    return inner_.read(split, index, scratch);
  }
  void expect(Split, std::span<const int64_t> indices) const override {
    const std::lock_guard lock(mutex_);
    if (indices.empty()) coming_.clear();
    for (const int64_t index : indices) {
      ++coming_[index];
      said_.push_back(index);
    }
  }

  std::vector<int64_t> said() const {
    const std::lock_guard lock(mutex_);
    return said_;
  }
  std::vector<int64_t> unannounced() const {
    const std::lock_guard lock(mutex_);
    return unannounced_;
  }

 private:
  const FakeDataset inner_{60};
  mutable std::mutex mutex_;
  mutable std::map<int64_t, int64_t> coming_;
  mutable std::vector<int64_t> said_;
  mutable std::vector<int64_t> unannounced_;
};

struct Hinted {
  explicit Hinted(bool augments = true) : decoder(augments) {}
  std::unique_ptr<Loader> make(const std::string& options) {
    const Node node = parse_yaml("{batch_size: 7, workers: 3, " + options + "}", "t.yaml");
    return Registry<Loader>::global()
        .parse(Section(node, "", "loader", nullptr))
        .create({dataset, decoder, device.allocator(), Split::train, 7, {}, meter, {}, &device});
  }
  HintedDataset dataset;
  Tracer tracer;
  LoaderMeter meter{"train", tracer};
  FakeDecoder decoder;
  FakeDevice device{true};
};

constexpr const char* kHintedLoaders[] = {
    "sync",       "threaded",         "threaded, samples_ahead: 3", "threaded, samples_ahead: 20",
    "prefetched", "device_prefetched"};
constexpr const char* kHintedOrders[] = {"permutation", "shards, window: 25",
                                         "shards, window: 9, cycle_length: 3",
                                         "shards, window: 1000"};

TEST(ReadHints, whatever_is_read_was_announced_over_epochs_and_after_a_resume) {
  for (const char* type : kHintedLoaders) {
    for (const char* order : kHintedOrders) {
      Hinted hinted;
      const auto loader = hinted.make(std::string("type: ") + type + ", order: " + order);
      for (const int64_t first : {0, 3, 0, 5}) {
        loader->start(first, first);
        while (loader->next()) {
        }
        loader->start(first + 1, 0);
        loader->next();
      }
      EXPECT_EQ(hinted.dataset.unannounced(), std::vector<int64_t>()) << type << ", " << order;
    }
  }
}

TEST(ReadHints, samples_ahead_are_announced_and_no_others) {
  Hinted hinted;
  const auto loader = hinted.make("type: threaded, samples_ahead: 3");
  loader->start(0, 0);
  EXPECT_EQ(hinted.dataset.said().size(), 3u);
  loader->next();
  EXPECT_EQ(hinted.dataset.said().size(), 7u + 3);
}

TEST(ReadHints, shards_are_announced_as_they_lie_a_stretch_ahead_of_what_is_asked_for) {
  Hinted hinted;
  const auto loader = hinted.make("type: prefetched, order: shards, window: 20");
  loader->start(0, 0);
  const std::vector<int64_t> said = hinted.dataset.said();
  // Two batches of 7 lie in the first stretch; the second follows.
  ASSERT_EQ(said.size(), 40u);
  int64_t breaks = 0;
  for (size_t i = 1; i < said.size(); ++i) breaks += said[i] != said[i - 1] + 1 ? 1 : 0;
  EXPECT_LE(breaks, 5);  // 60 samples in 6 files
}

TEST(ReadHints, what_is_resident_is_not_announced) {
  Hinted hinted(false);
  const auto loader = hinted.make("type: device_resident, order: shards");
  loader->start(0, 0);
  while (loader->next()) {
  }
  EXPECT_EQ(hinted.dataset.said(), std::vector<int64_t>());
}

}  // namespace
}  // namespace stoker
