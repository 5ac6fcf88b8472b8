#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "io/core/error.h"
#include "io/core/threads.h"
#include "tests/dataset/parquet_tables.h"
#include "tests/support/datasets.h"
#include "tests/support/errors.h"

// How often row groups are read, by how many threads, and what comes of damage and of a tier that
// fails.

namespace stoker {
namespace {

// A tier that counts reads of its shards, and may fail or hang.
class ShakyStorage final : public Storage {
 public:
  std::vector<ObjectInfo> list(const std::string& prefix) const override {
    return inner_->list(prefix);
  }
  void read(const std::string& key, Buffer& out, Range range) const override {
    if (key.ends_with(".parquet")) {
      ++reads;
      bytes += range.length;
      if (fails) throw IoError("read " + key + ": it is broken", EIO);
      while (hangs) sleep_interruptibly(std::chrono::steady_clock::now() + kMoment);
    }
    inner_->read(key, out, range);
  }
  std::unique_ptr<ObjectWriter> create(const std::string& key) override {
    return inner_->create(key);
  }
  void remove(const std::string& key) override { inner_->remove(key); }

  mutable std::atomic<int> reads = 0;
  mutable std::atomic<uint64_t> bytes = 0;
  std::atomic<bool> fails = false;
  std::atomic<bool> hangs = false;

 private:
  static constexpr std::chrono::milliseconds kMoment{1};
  const std::unique_ptr<Storage> inner_ = make_storage("{type: memory}");
};

constexpr int64_t kRows = 200;
constexpr size_t kBytes = 500;
constexpr int kGroups = 10;

// Two hundred samples in ten row groups, each of which is one read.
class ParquetReads : public testing::Test {
 protected:
  ParquetReads() : data_(std::make_unique<ShakyStorage>()) {
    file_ = parquet_file({{"data", byte_lists(records(0, kRows, kBytes))}},
                         {arrow::Compression::GZIP, kRows / kGroups});
  }
  ShakyStorage& tier() { return static_cast<ShakyStorage&>(data_.tier()); }
  const Dataset& open(const std::string& more = "") {
    put(tier(), "train.parquet", file_);
    data_.build("{type: parquet, storage: data" + more + "}");
    return *data_.dataset;
  }
  int reads_of(const Dataset& data, const std::vector<int64_t>& order) {
    tier().reads = 0;
    for (const int64_t i : order) {
      EXPECT_EQ(read_sample(data, Split::train, i), record_of(i, kBytes));
    }
    return tier().reads;
  }
  // From all over the shard: every row once.
  static std::vector<int64_t> scattered() {
    std::vector<int64_t> order;
    for (int64_t i = 0; i < kRows; ++i) order.push_back(i * 61 % kRows);
    return order;
  }
  static std::vector<int64_t> in_order() {
    std::vector<int64_t> order;
    for (int64_t i = 0; i < kRows; ++i) order.push_back(i);
    return order;
  }

  std::string file_;
  TestDataset data_;
};

TEST_F(ParquetReads, the_scan_of_lists_of_one_length_reads_the_footer_alone) {
  const Dataset& data = open();
  EXPECT_EQ(data.size(Split::train), kRows);
  EXPECT_EQ(tier().reads, 1);
  EXPECT_LE(tier().bytes, uint64_t{64} << 10);
}

TEST_F(ParquetReads, a_row_group_is_read_once_while_it_is_kept) {
  const Dataset& data = open();
  EXPECT_EQ(reads_of(data, scattered()), kGroups + 1);  // and the footer
  EXPECT_EQ(reads_of(data, scattered()), 0);
}

TEST_F(ParquetReads, with_little_memory_the_order_of_the_file_reads_each_once) {
  const Dataset& data = open(", keep: 1");
  EXPECT_EQ(reads_of(data, in_order()), kGroups + 1);
  EXPECT_EQ(reads_of(data, in_order()), kGroups);
  const size_t before = data_.remarks.size();
  EXPECT_GT(reads_of(data, scattered()), kRows / 2);
  reads_of(data, scattered());
  ASSERT_EQ(data_.remarks.size(), before + 1) << "it is said, and once";
  EXPECT_NE(data_.remarks.back().find("set dataset.keep to more"), std::string::npos);
}

TEST_F(ParquetReads, threads_that_want_the_same_row_group_read_it_once) {
  const Dataset& data = open();
  tier().reads = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int64_t i = 0; i < kRows; ++i) {
        EXPECT_EQ(read_sample(data, Split::train, i), record_of(i, kBytes));
      }
    });
  }
  threads.clear();
  EXPECT_EQ(tier().reads, kGroups + 1);
}

TEST_F(ParquetReads, a_tier_that_fails_makes_no_sample_bad_and_is_asked_again) {
  const Dataset& data = open();
  tier().fails = true;
  EXPECT_THROW(read_sample(data, Split::train, 5), IoError);
  tier().fails = false;
  EXPECT_EQ(read_sample(data, Split::train, 5), record_of(5, kBytes));
}

TEST_F(ParquetReads, waits_can_be_given_up_by_who_reads_and_by_who_waits_for_it) {
  const Dataset& data = open();
  tier().hangs = true;
  tier().reads = 0;
  std::stop_source stop;
  std::atomic<int> given_up = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      const Interruptible interruptible(stop.get_token());
      try {
        read_sample(data, Split::train, 5);
      } catch (const Interrupted&) {
        ++given_up;
      }
    });
  }
  while (tier().reads == 0) std::this_thread::yield();
  stop.request_stop();
  threads.clear();
  EXPECT_EQ(given_up, 3);
  tier().hangs = false;
  EXPECT_EQ(read_sample(data, Split::train, 5), record_of(5, kBytes));
}

TEST_F(ParquetReads, damage_that_is_found_at_reading_is_read_once) {
  // The scan of lists of one length does not see it.
  const size_t middle = file_.size() / 2;
  for (size_t i = 0; i < 50; ++i) file_[middle + i] ^= 0x55;
  const Dataset& data = open();
  tier().reads = 0;
  int bad = 0;
  for (int64_t i = 0; i < kRows; ++i) {
    if (!why_bad(data, i).empty()) ++bad;
  }
  EXPECT_EQ(bad, kRows / kGroups);
  EXPECT_EQ(tier().reads, kGroups + 1);
}

// A file that was damaged somewhere: its good samples are read, and whatever is wrong is said.
void read_all(const std::string& file, const std::string& column) {
  TestDataset data(make_storage("{type: memory}"));
  put(data.tier(), "train.parquet", file);
  try {
    const Dataset& set = data.build("{type: parquet, storage: data, images: " + column + "}");
    for (int64_t i = 0; i < std::min<int64_t>(set.size(Split::train), 200); ++i) {
      (void)why_bad(set, i);
    }
  } catch (const Error&) {
  }
}

TEST(ParquetDamaged, no_byte_of_a_file_makes_a_crash) {
  const std::string file =
      parquet_file({{"list", byte_lists(records(0, 60, 20))},
                    {"png", binaries(Texts(60, std::string("an image")))},
                    {"label", int64s(std::vector<std::optional<int64_t>>(60, 0))}},
                   {arrow::Compression::SNAPPY, 20});
  const int64_t tries = std::getenv("STOKER_LONG") != nullptr ? 50'000 : 600;
  uint64_t state = 1;
  const auto draw = [&](uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
  };
  for (int64_t i = 0; i < tries; ++i) {
    std::string damaged = file;
    for (uint64_t n = draw(4) + 1; n > 0; --n) {
      damaged[draw(damaged.size())] = static_cast<char>(draw(256));
    }
    read_all(damaged, i % 2 == 0 ? "list" : "png");
  }
}

}  // namespace
}  // namespace stoker
