#include "io/loader/lmdbio/database/read_parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "tests/support/errors.h"
#include "tests/support/storages.h"

namespace stoker {
namespace {

constexpr uint64_t kKiB = 1024;

// An object whose bytes say where they are, and what is asked of it.
struct PartsTier final : Storage {
  explicit PartsTier(uint64_t bytes) : object{"object", bytes} {}
  std::vector<ObjectInfo> list(const std::string& /*prefix*/) const override { return {object}; }
  void read(const std::string& /*key*/, Buffer& out, Range range) const override {
    const std::lock_guard lock(mutex);
    const uint64_t there = std::min(range.length, is - range.offset);
    uint8_t* const to = out.resize(there);
    for (uint64_t i = 0; i < there; ++i) to[i] = static_cast<uint8_t>((range.offset + i) % 251);
    asked.push_back(range);
  }
  void expect(std::span<const ObjectRange> reads) const override {
    for (const ObjectRange& read : reads) expected.push_back(read.range);
  }
  std::unique_ptr<ObjectWriter> create(const std::string& /*key*/) override { return nullptr; }
  void remove(const std::string& /*key*/) override {}

  const ObjectInfo object;
  uint64_t is = object.bytes;
  mutable std::mutex mutex;
  mutable std::vector<Range> asked, expected;
};

// The places of the parts in the order in which they came.
std::vector<size_t> read_all(const PartsTier& tier, const std::vector<Range>& parts) {
  std::vector<size_t> order;
  read_parts(tier, tier.object, parts, [&](size_t part, Bytes bytes) {
    order.push_back(part);
    EXPECT_EQ(bytes.size(), parts[part].length);
    EXPECT_EQ(bytes.front(), parts[part].offset % 251);
    EXPECT_EQ(bytes.back(), (parts[part].offset + bytes.size() - 1) % 251);
  });
  return order;
}

TEST(ReadParts, what_lies_close_together_comes_by_one_request_in_the_order_of_its_places) {
  const PartsTier tier(1000 * kKiB);
  EXPECT_EQ(read_all(tier, {{300 * kKiB, 10}, {0, 100}, {50, 100}, {60 * kKiB, 1}, {60, 10}}),
            (std::vector<size_t>{1, 2, 4, 3, 0}));
  ASSERT_EQ(tier.asked.size(), 2u);
  EXPECT_EQ(tier.expected, (std::vector<Range>{{0, 60 * kKiB + 1}, {300 * kKiB, 10}}));
}

TEST(ReadParts, a_request_has_a_mebibyte_unless_a_part_is_larger) {
  const PartsTier tier(8192 * kKiB);
  std::vector<Range> parts;
  for (uint64_t at = 0; at < 4096 * kKiB; at += 4 * kKiB) parts.push_back({at, 4 * kKiB});
  parts.push_back({4096 * kKiB, 3000 * kKiB});
  parts.push_back({4100 * kKiB, 1});
  EXPECT_EQ(read_all(tier, parts).size(), parts.size());
  EXPECT_EQ(tier.expected, (std::vector<Range>{{0, 1024 * kKiB},
                                               {1024 * kKiB, 1024 * kKiB},
                                               {2048 * kKiB, 1024 * kKiB},
                                               {3072 * kKiB, 1024 * kKiB},
                                               {4096 * kKiB, 3000 * kKiB}}));
}

TEST(ReadParts, thousands_of_requests_are_made_in_rounds) {
  const PartsTier tier(1'000'000 * kKiB);
  std::vector<Range> parts;
  for (uint64_t i = 0; i < 3000; ++i) parts.push_back({i * 100 * kKiB, 5});
  EXPECT_EQ(read_all(tier, parts).size(), 3000u);
  EXPECT_EQ(tier.asked.size(), 3000u);
}

TEST(ReadParts, an_object_that_is_shorter_by_now_is_an_error) {
  PartsTier tier(1000);
  tier.is = 500;
  EXPECT_EQ(error_of([&] { read_all(tier, {{400, 200}}); }), "read object: it was cut meanwhile");
  EXPECT_TRUE(read_all(tier, {}).empty());
}

}  // namespace
}  // namespace stoker
