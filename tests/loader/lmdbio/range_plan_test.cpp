#include "io/loader/lmdbio/explicit/range_plan.h"

#include <gtest/gtest.h>

#include <random>

#include "io/loader/lmdbio/group_order.h"

namespace stoker {
namespace {

using Reads = std::vector<RangePlan::Read>;

TEST(RangePlan, is_one_read_whatever_lies_between) {
  const RangePlan plan =
      plan_ranges(std::vector<RecordPlace>{{{4112, 3000}}, {{8208, 3000}}, {{20496, 3000}}});
  EXPECT_EQ(plan.reads, (Reads{{{4112, 19384}, 0}}));
  EXPECT_EQ(plan.bytes, 19384u);
  EXPECT_EQ(plan.places[0].offset, 0u);
  EXPECT_EQ(plan.places[2].offset, 16384u);
  EXPECT_EQ(plan.places[2].bytes, 3000u);
  EXPECT_EQ(plan.pages_needed, 3);
  EXPECT_EQ(plan.pages_fetched, 5);
}

TEST(RangePlan, begins_with_what_is_in_front_of_a_record_and_has_to_be_looked_at) {
  const RangePlan plan = plan_ranges(std::vector<RecordPlace>{{{4112, 3000}, 16}});
  EXPECT_EQ(plan.reads, (Reads{{{4096, 3016}, 0}}));
  EXPECT_EQ(plan.places[0].offset, 16u);
}

TEST(RangePlan, is_several_reads_where_little_of_one_would_be_needed) {
  const RangePlan plan =
      plan_ranges(std::vector<RecordPlace>{{{100'000, 100}}, {{100'200, 100}}, {{5'000, 100}}});
  EXPECT_EQ(plan.reads, (Reads{{{5'000, 100}, 0}, {{100'000, 300}, 100}}));
  EXPECT_EQ(plan.places[0].offset, 100u);
  EXPECT_EQ(plan.places[1].offset, 300u);
  EXPECT_EQ(plan.places[2].offset, 0u);
}

TEST(RangePlan, of_nothing_reads_nothing) {
  EXPECT_TRUE(plan_ranges({}).reads.empty());
  const RangePlan plan = plan_ranges(std::vector<RecordPlace>{{{700, 0}}, {{700, 0}}});
  EXPECT_TRUE(plan.reads.empty());
  EXPECT_EQ(plan.bytes, 0u);
  EXPECT_EQ(plan.places.size(), 2u);
}

TEST(RangePlan, gets_each_record_and_never_more_than_four_times_what_is_needed) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<RecordPlace> records;
    uint64_t needed = 0;
    for (int i = 0; i < 20; ++i) {
      records.push_back({{random() % 200'000, random() % 2'000}});
      needed += records.back().value.length;
    }
    const RangePlan plan = plan_ranges(records);
    uint64_t read = 0;
    for (const RangePlan::Read& each : plan.reads) read += each.range.length;
    EXPECT_EQ(read, plan.bytes);
    EXPECT_LE(read, 4 * needed + 3);
    for (size_t i = 0; i < records.size(); ++i) {
      if (records[i].value.length == 0) continue;
      int found = 0;
      for (const RangePlan::Read& each : plan.reads) {
        if (plan.places[i].offset < each.to ||
            plan.places[i].offset + plan.places[i].bytes > each.to + each.range.length) {
          continue;
        }
        ++found;
        EXPECT_EQ(each.range.offset + plan.places[i].offset - each.to, records[i].value.offset);
      }
      EXPECT_EQ(found, 1);
    }
  }
}

TEST(Coalesce, is_as_many_batches_as_four_mebibytes_rounded_up_to_a_power_of_two) {
  EXPECT_EQ(coalesced_batches(4 << 20, 100), 1);
  EXPECT_EQ(coalesced_batches((4 << 20) - 1, 100), 2);
  EXPECT_EQ(coalesced_batches(1 << 20, 100), 4);
  EXPECT_EQ(coalesced_batches(900'000, 100), 8);  // 4.66
  EXPECT_EQ(coalesced_batches(900'000, 5), 5);
  EXPECT_EQ(coalesced_batches(UINT64_MAX, 5), 1);
  EXPECT_EQ(coalesced_batches(0, 5), 5);
  EXPECT_EQ(coalesced_batches(1, 0), 1);
}

}  // namespace
}  // namespace stoker
