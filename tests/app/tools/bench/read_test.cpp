#include "app/tools/bench/read.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <thread>

#include "io/core/error.h"
#include "io/metrics/record/run_record.h"
#include "tests/support/errors.h"
#include "tests/support/fakes.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

// Writes down what is read, and by how many at once.
class Watched final : public Dataset {
 public:
  explicit Watched(const Dataset& inner) : Dataset(inner.on_error()), inner_(inner) {}
  const std::vector<std::string>& classes() const override { return inner_.classes(); }
  int64_t size(Split split) const override { return inner_.size(split); }
  SampleInfo info(Split split, int64_t index) const override { return inner_.info(split, index); }
  EncodedSample read(Split split, int64_t index, Buffer& scratch) const override {
    {
      const std::lock_guard lock(mutex_);
      order_.push_back(index);
      most_ = std::max(most_, ++now_);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    const std::lock_guard lock(mutex_);
    --now_;
    return inner_.read(split, index, scratch);
  }
  // The samples of the n-th pass over `count` of them, in the order of reading.
  std::vector<int64_t> pass(size_t n, size_t count) const {
    const auto begin = order_.begin() + static_cast<std::ptrdiff_t>(n * count);
    return {begin, begin + static_cast<std::ptrdiff_t>(count)};
  }
  size_t reads() const { return order_.size(); }
  int most_at_once() const { return most_; }

 private:
  const Dataset& inner_;
  mutable std::mutex mutex_;
  mutable std::vector<int64_t> order_;
  mutable int now_ = 0;
  mutable int most_ = 0;
};

struct BenchRead : testing::Test {
  std::vector<ReadBenchResult> run(const Dataset& dataset) {
    return bench_read(dataset, reads_of(dataset), nullptr, false, options);
  }
  ReadPass reads_of(const Dataset& dataset) {
    return bare_reads(dataset, decoder, stages, options.seed, false);
  }
  FakeDecoder decoder;
  ReadStages stages = ReadStages::read;
  ReadBenchOptions options{{1, 4}, 10, 0, 3, 7};
};

TEST_F(BenchRead, takes_every_number_of_threads_in_each_repetition_and_drops_the_first) {
  const FakeDataset samples(40);
  const Watched dataset(samples);
  const auto results = run(dataset);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(dataset.reads(), 3 * 2 * 40u);
  EXPECT_EQ(dataset.most_at_once(), 4);
  for (const ReadBenchResult& result : results) {
    ASSERT_EQ(result.repetitions.size(), 2u);
    for (const ReadRepetition& repetition : result.repetitions) {
      EXPECT_EQ(repetition.images, 40);
      EXPECT_EQ(repetition.bytes, 40 * sizeof(int64_t));
      EXPECT_GT(repetition.seconds, 0);
      EXPECT_FALSE(repetition.spoiled);
      EXPECT_FALSE(repetition.resident.has_value());
    }
  }
  EXPECT_EQ(decoder.decoded(), 0);
}

TEST_F(BenchRead, every_pass_is_a_permutation_and_every_repetition_another_one) {
  const FakeDataset samples(40);
  const Watched dataset(samples);
  options.threads = {1, 1};
  run(dataset);
  EXPECT_EQ(dataset.pass(0, 40), dataset.pass(1, 40));  // one repetition
  EXPECT_NE(dataset.pass(0, 40), dataset.pass(2, 40));
  std::vector<int64_t> sorted = dataset.pass(3, 40);
  EXPECT_FALSE(std::ranges::is_sorted(sorted));
  std::ranges::sort(sorted);
  for (int64_t i = 0; i < 40; ++i) EXPECT_EQ(sorted[static_cast<size_t>(i)], i);
}

TEST_F(BenchRead, so_many_batches_and_no_more_than_there_are) {
  const FakeDataset samples(40);
  options.batches = 3;
  EXPECT_EQ(run(samples)[0].repetitions[0].images, 30);
  options.batches = 5;
  EXPECT_EQ(error_of([&] { run(samples); }),
            "--batches 5 of 10 are more than the 40 training samples: use fewer, or 0 for all");
}

TEST_F(BenchRead, the_whole_decoder_decodes_every_sample) {
  const FakeDataset samples(40);
  stages = ReadStages::resize;
  run(samples);
  EXPECT_EQ(decoder.decoded(), 3 * 2 * 40);
}

TEST_F(BenchRead, bad_samples_stop_or_are_left_out_within_the_budget) {
  EXPECT_NE(error_of([&] { run(FakeDataset(40, {3})); }).find("dataset: sample/3: corrupt"),
            std::string::npos);
  OnError skip{ErrorPolicy::skip, Budget{2, false}};
  const auto results = run(FakeDataset(40, {3, 5}, skip));
  EXPECT_EQ(results[1].repetitions[0].images, 38);
  EXPECT_EQ(results[1].repetitions[0].bad, 2);
  EXPECT_NE(error_of([&] {
              run(FakeDataset(40, {3, 5, 7}, skip));
            }).find("3 bad samples"),
            std::string::npos);
}

TEST_F(BenchRead, full_size_is_for_jpeg_only) {
  stages = ReadStages::decode;
  EXPECT_NE(error_of([&] { run(FakeDataset(40)); }).find("not_an_image"), std::string::npos);
}

// Files of one byte each are cold or not as the file system lets them be; that is what has to be
// said.
TEST_F(BenchRead, a_pass_that_should_be_cold_and_is_not_is_spoiled) {
  TemporaryDirectory directory;
  for (int i = 0; i < 40; ++i) directory.write("sample/" + std::to_string(i), "x");
  const FakeDataset samples(40);
  const FileTree files(directory.path());
  for (const ReadBenchResult& r : bench_read(samples, reads_of(samples), &files, true, options)) {
    for (const ReadRepetition& repetition : r.repetitions) {
      ASSERT_TRUE(repetition.resident.has_value());
      EXPECT_EQ(repetition.spoiled, !is_cold(*repetition.resident));
    }
  }
  const FileTree nothing(directory / "none");
  for (const ReadBenchResult& r : bench_read(samples, reads_of(samples), &nothing, true, options)) {
    EXPECT_TRUE(r.repetitions[0].spoiled);  // nobody knows
  }
  for (const ReadBenchResult& r : bench_read(samples, reads_of(samples), &files, false, options)) {
    EXPECT_FALSE(r.repetitions[0].spoiled);
  }
}

TEST_F(BenchRead, with_an_order_of_its_own_a_pass_may_read_any_file) {
  TemporaryDirectory directory;
  directory.write("sample/39", "x");  // the only one that can be looked at
  const FakeDataset samples(40);
  const FileTree files(directory.path());
  options.batches = 1;
  options.own_order = true;
  const auto results = bench_read(samples, reads_of(samples), &files, false, options);
  for (const ReadBenchResult& r : results) {
    for (const ReadRepetition& repetition : r.repetitions) {
      EXPECT_TRUE(repetition.resident.has_value());
    }
  }
}

TEST_F(BenchRead, a_counted_pass_says_what_it_asked_of_the_tier) {
  Hub hub;
  TierMeter& meter = hub.add_tier("data", "memory", false);
  TierMeter& inner = hub.add_tier("data.inner", "memory", false);
  meter.finished(TierOp::read, Clock::now(), 1000);  // before the pass
  const ReadPass reads = [&](int64_t, int64_t, const std::vector<int64_t>&) {
    meter.finished(TierOp::open, Clock::now(), 0);
    meter.finished(TierOp::read, Clock::now(), 30);
    inner.finished(TierOp::read, Clock::now(), 500);
    return ReadRepetition{};
  };
  const ReadRepetition measured = counted(reads, asked_of(hub, "data"))(1, 0, {});
  ASSERT_TRUE(measured.asked.has_value());
  EXPECT_EQ(measured.asked->requests, 2);
  EXPECT_EQ(measured.asked->bytes, 30u);
}

}  // namespace
}  // namespace stoker
