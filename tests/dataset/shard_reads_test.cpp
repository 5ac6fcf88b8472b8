#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "io/core/error.h"
#include "io/core/threads.h"
#include "tests/support/archives.h"
#include "tests/support/datasets.h"

// How samples of a shard are read: alone, or by large pieces ahead of those who ask for them.

namespace stoker {
namespace {

using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;

// A tier that keeps what is read of it, and announced.
class WatchedStorage final : public Storage {
 public:
  std::vector<ObjectInfo> list(const std::string& prefix) const override {
    return inner_->list(prefix);
  }
  void read(const std::string& key, Buffer& out, Range range) const override {
    if (key.ends_with(".tar")) {
      const std::lock_guard lock(mutex_);
      reads_.emplace_back(range.offset, range.length);
      if (fails_) throw IoError("read " + key + ": it is broken", EIO);
    }
    while (hangs_) sleep_interruptibly(std::chrono::steady_clock::now() + kMoment);
    inner_->read(key, out, range);
  }
  std::unique_ptr<ObjectWriter> create(const std::string& key) override {
    return inner_->create(key);
  }
  void remove(const std::string& key) override { inner_->remove(key); }
  void expect(std::span<const ObjectRange> reads) const override {
    const std::lock_guard lock(mutex_);
    for (const ObjectRange& read : reads) said_.emplace_back(read.range.offset, read.range.length);
  }

  // Since the last call.
  Ranges reads() const {
    const std::lock_guard lock(mutex_);
    return std::exchange(reads_, {});
  }
  Ranges said() const {
    const std::lock_guard lock(mutex_);
    return std::exchange(said_, {});
  }
  void fail(bool fails) {
    const std::lock_guard lock(mutex_);
    fails_ = fails;
  }
  // From now on reads take as long as this is so.
  void hang(bool hangs) { hangs_ = hangs; }

 private:
  const std::unique_ptr<Storage> inner_ = make_storage("{type: memory}");
  mutable std::mutex mutex_;
  mutable Ranges reads_;
  mutable Ranges said_;
  bool fails_ = false;
  static constexpr std::chrono::milliseconds kMoment{1};
  std::atomic<bool> hangs_ = false;
};

constexpr uint64_t kBytes = 1000;  // in a tar, 1024 and a header of 512

std::string contents_of(int64_t index) {
  return std::string(kBytes, static_cast<char>('a' + index % 26));
}

// Twenty samples of 1,000 bytes in a shard.
class ShardReads : public testing::Test {
 protected:
  ShardReads() : data_(std::make_unique<WatchedStorage>()) {
    ArchiveFiles files;
    for (int64_t i = 0; i < 20; ++i) {
      files.emplace_back("a/" + std::to_string(100 + i) + ".jpg", contents_of(i));
    }
    put(data_.tier(), "train.tar", make_archive(files, ARCHIVE_FORMAT_TAR_USTAR, false));
  }
  WatchedStorage& tier() { return static_cast<WatchedStorage&>(data_.tier()); }
  Dataset& open(const std::string& more) {
    data_.build("{type: tar_shards, storage: data, " + more + "}");
    tier().reads();
    tier().said();
    return *data_.dataset;
  }
  static void expect(const Dataset& data, const std::vector<int64_t>& indices) {
    data.expect(Split::train, indices);
  }
  // The n-th sample's place.
  static uint64_t place(uint64_t n) { return 512 + n * 1536; }

  TestDataset data_;
};

TEST_F(ShardReads, neighbours_are_read_by_pieces_and_each_piece_once) {
  const Dataset& data = open("block: 8KiB");
  std::vector<int64_t> all;
  for (int64_t i = 0; i < 20; ++i) all.push_back(i);
  expect(data, all);
  for (const int64_t i : {3, 1, 0, 2, 4, 19, 5, 18}) {
    EXPECT_EQ(read_sample(data, Split::train, i), contents_of(i));
  }
  for (int64_t i = 6; i < 18; ++i) EXPECT_EQ(read_sample(data, Split::train, i), contents_of(i));
  // Five samples and what is between them; each piece begins where the one before it ends.
  const Ranges pieces{{place(0), 7144},
                      {place(4) + kBytes, 7680},
                      {place(9) + kBytes, 7680},
                      {place(14) + kBytes, 7680}};
  EXPECT_EQ(tier().said(), pieces);
  EXPECT_EQ(tier().reads(), pieces);
  EXPECT_EQ(read_sample(data, Split::train, 7), contents_of(7));  // again: alone
  EXPECT_EQ(tier().reads(), (Ranges{{place(7), kBytes}}));
}

TEST_F(ShardReads, samples_from_all_over_the_shard_are_read_alone_and_the_tier_is_told) {
  const Dataset& data = open("block: 8KiB");
  expect(data, {15, 3, 9});
  EXPECT_EQ(tier().said(), (Ranges{{place(15), kBytes}, {place(3), kBytes}, {place(9), kBytes}}));
  EXPECT_EQ(read_sample(data, Split::train, 9), contents_of(9));
  EXPECT_EQ(tier().reads(), (Ranges{{place(9), kBytes}}));
}

TEST_F(ShardReads, a_limit_of_memory_holds_reading_up_but_not_who_waits_for_it) {
  const Dataset& data = open("block: 4KiB, read_ahead: 4KiB");
  std::vector<int64_t> all;
  for (int64_t i = 0; i < 20; ++i) all.push_back(i);
  expect(data, all);
  // The last first: all before it is read for it, though nobody has taken that.
  EXPECT_EQ(read_sample(data, Split::train, 19), contents_of(19));
  EXPECT_EQ(tier().reads().size(), 10u);
  for (int64_t i = 0; i < 19; ++i) EXPECT_EQ(read_sample(data, Split::train, i), contents_of(i));
  EXPECT_EQ(tier().reads().size(), 0u);
}

TEST_F(ShardReads, what_is_forgotten_is_read_alone) {
  const Dataset& data = open("block: 8KiB");
  expect(data, {0, 1, 2, 3});
  while (tier().reads().empty()) std::this_thread::yield();  // the piece of all four
  expect(data, {});
  EXPECT_EQ(read_sample(data, Split::train, 2), contents_of(2));
  EXPECT_EQ(tier().reads(), (Ranges{{place(2), kBytes}}));
}

TEST_F(ShardReads, a_piece_that_cannot_be_read_is_an_error_of_its_samples_alone) {
  const Dataset& data = open("block: 8KiB");
  tier().fail(true);
  expect(data, {0, 1, 2, 3});
  EXPECT_THROW(read_sample(data, Split::train, 1), IoError);
  tier().fail(false);
  EXPECT_EQ(read_sample(data, Split::train, 2), contents_of(2));
}

TEST_F(ShardReads, who_waits_for_a_piece_can_be_told_to_give_up) {
  const Dataset& data = open("block: 8KiB");
  tier().hang(true);
  expect(data, {0, 1, 2, 3});
  std::jthread reader([&](const std::stop_token& stop) {
    const Interruptible scope(stop);
    EXPECT_THROW(read_sample(data, Split::train, 1), Interrupted);
  });
  while (tier().reads().empty()) std::this_thread::yield();
  reader.request_stop();
  reader.join();
  tier().hang(false);
  EXPECT_EQ(read_sample(data, Split::train, 2), contents_of(2));  // of the same piece
  tier().hang(true);
  expect(data, {10, 11, 12});
  data_.dataset.reset();  // the piece that is being read keeps nobody waiting
}

TEST_F(ShardReads, many_threads_take_what_several_readers_read) {
  const Dataset& data = open("block: 4KiB, read_ahead: 16KiB, readers: 3");
  std::vector<int64_t> all;
  for (int64_t round = 0; round < 50; ++round) {
    for (int64_t i = 0; i < 20; ++i) all.push_back(i);
  }
  for (size_t begin = 0; begin < all.size(); begin += 20) {
    data.expect(Split::train, std::span(all).subspan(begin, 20));
  }
  std::atomic<size_t> next{0};
  std::atomic<int64_t> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (size_t i = next++; i < all.size(); i = next++) {
          if (read_sample(data, Split::train, all[i]) != contents_of(all[i])) ++wrong;
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(tier().reads().size(), 500u);
}

}  // namespace
}  // namespace stoker
