#include "io/metrics/record_read_meter.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "io/metrics/ranks/breakdown.h"
#include "io/metrics/record/figures.h"

namespace stoker {
namespace {

constexpr size_t kPage = 4096;

// Touches so many new pages.
void fault(size_t pages) {
  void* const memory =
      ::mmap(nullptr, pages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  ::madvise(memory, pages * kPage, MADV_NOHUGEPAGE);
  for (size_t i = 0; i < pages; ++i) static_cast<volatile uint8_t*>(memory)[i * kPage] = 1;
  ::munmap(memory, pages * kPage);
}

// The values of a figure, by label.
std::map<std::string, double> values(const RunRecord& record, std::string_view name) {
  std::map<std::string, double> result;
  for (const FigureValue& value : select_figures({name}).front()->read(record)) {
    std::string labels;
    for (const std::string& label : value.labels) labels += (labels.empty() ? "" : " ") + label;
    if (value.value) result[labels] = *value.value;
  }
  return result;
}

RecordReadCosts costs_of(double wall_s, int64_t needed) {
  RecordReadCosts costs;
  costs.wall_s = wall_s;
  costs.user_s = wall_s / 4;
  costs.kernel_s = wall_s / 4;
  costs.pages_needed = needed;
  return costs;
}

TEST(RecordReadMeter, nobody_has_read_records_until_somebody_does) {
  RecordReadMeter meter;
  EXPECT_FALSE(meter.costs());
  { const RecordReadMeter::Reading reading(meter); }
  EXPECT_TRUE(meter.costs());
}

TEST(RecordReadMeter, counts_what_the_calling_thread_does_and_no_other) {
  RecordReadMeter meter;
  std::thread([] { fault(5000); }).join();
  {
    const RecordReadMeter::Reading reading(meter);
    std::thread([] { fault(5000); }).join();
  }
  EXPECT_LT(meter.costs()->minor_faults, 1000);
  {
    const RecordReadMeter::Reading reading(meter);
    fault(1000);
  }
  EXPECT_GE(meter.costs()->minor_faults, 1000);
  EXPECT_LT(meter.costs()->minor_faults, 5000);
}

TEST(RecordReadMeter,
     sleep_is_neither_in_user_space_nor_in_the_kernel_and_switches_of_its_own_will) {
  RecordReadMeter meter;
  {
    const RecordReadMeter::Reading reading(meter);
    for (int i = 0; i < 20; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const RecordReadCosts costs = *meter.costs();
  EXPECT_GE(costs.wall_s, 0.02);
  EXPECT_GE(costs.sleep_s(), 0.5 * costs.wall_s);
  EXPECT_DOUBLE_EQ(costs.sleep_s(), costs.wall_s - costs.user_s - costs.kernel_s);
  EXPECT_GE(costs.voluntary_switches, 20);
}

TEST(RecordReadMeter, adds_up_readings_and_counts_of_several_threads) {
  RecordReadMeter meter;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&meter] {
        for (int n = 0; n < 100; ++n) {
          RecordReadCosts counted;
          counted.requests = 1;
          counted.bytes = 10;
          counted.pages_missed_left = 2;
          counted.opening_s = 0.5;
          meter.add(counted);
        }
      });
    }
  }
  EXPECT_EQ(meter.costs()->requests, 400);
  EXPECT_EQ(meter.costs()->bytes, 4000);
  EXPECT_EQ(meter.costs()->pages_missed_left, 800);
  EXPECT_DOUBLE_EQ(meter.costs()->opening_s, 200);
}

TEST(RecordReadFigures, are_absent_where_nobody_reads_records) {
  RunRecord record;
  record.loaders.resize(1);
  record.loaders[0].split = "train";
  record.run.ranks.resize(2);
  for (const char* name : {"record_reads.time_s.{part}", "all_ranks.record_reads.pages.{kind}",
                           "ranks.{rank}.record_reads.requests"}) {
    EXPECT_TRUE(values(record, name).empty()) << name;
  }
}

TEST(RecordReadFigures, are_those_of_this_rank_of_each_and_their_sums) {
  RunRecord record;
  record.loaders.resize(1);
  record.loaders[0].split = "train";
  record.loaders[0].record_reads = costs_of(4, 10);
  EXPECT_EQ(values(record, "record_reads.time_s.{part}")["sleep"], 2);
  // Alone: the sum is its own.
  EXPECT_EQ(values(record, "all_ranks.record_reads.pages.{kind}")["needed"], 10);
  record.run.ranks.resize(2);
  record.run.ranks[0].record_reads = costs_of(4, 10);
  record.run.ranks[1].record_reads = costs_of(6, 7);
  EXPECT_EQ(values(record, "ranks.{rank}.record_reads.pages.{kind}")["1 needed"], 7);
  EXPECT_EQ(values(record, "all_ranks.record_reads.pages.{kind}")["needed"], 17);
  EXPECT_EQ(values(record, "all_ranks.record_reads.time_s.{part}")["wall"], 10);
}

// A second of each segment, three of waiting for data, of which two thirds were reading.
RunTotals some_time() {
  RunTotals totals;
  totals.segments.fill(1);
  totals.segments[static_cast<size_t>(Segment::data_wait)] = 3;
  totals.segments[static_cast<size_t>(Segment::compute)] = 10;
  totals.wall_s = 13 + kSegments - 2;
  totals.device.idle[static_cast<size_t>(IdleCause::peers)] = 0.25;
  return totals;
}

LoaderMeter::State some_work() {
  LoaderMeter::State loader;
  loader.split = "train";
  loader.record_reads = costs_of(8, 1);
  loader.stages[static_cast<size_t>(Stage::decode)].ns = 4'000'000'000;
  return loader;
}

double part_of(const Breakdown& parts, TimePart part) {
  return parts[static_cast<size_t>(part)].value_or(-1);
}

double sum_of(const Breakdown& parts) {
  double sum = 0;
  for (const auto& part : parts) sum += part.value_or(0);
  return sum;
}

TEST(Breakdown, of_a_computing_thread_has_all_parts_and_adds_up_to_its_time) {
  RunTotals totals = some_time();
  totals.pass = PassTimes{3, 6, 1};
  const Breakdown parts = break_down(totals, "host", some_work());
  EXPECT_DOUBLE_EQ(part_of(parts, TimePart::read), 2);
  EXPECT_DOUBLE_EQ(part_of(parts, TimePart::transform), 1);
  EXPECT_DOUBLE_EQ(part_of(parts, TimePart::forward), 3);
  EXPECT_DOUBLE_EQ(part_of(parts, TimePart::backward), 5);  // less the exchange
  EXPECT_DOUBLE_EQ(part_of(parts, TimePart::wait_before_sync), 0.25);
  EXPECT_DOUBLE_EQ(part_of(parts, TimePart::sync), 0.75);
  EXPECT_DOUBLE_EQ(part_of(parts, TimePart::update), 1);
  EXPECT_FALSE(parts[static_cast<size_t>(TimePart::compute)]);
  EXPECT_DOUBLE_EQ(sum_of(parts), totals.wall_s);
  const Breakdown hidden = hidden_time(totals, some_work());
  EXPECT_DOUBLE_EQ(part_of(hidden, TimePart::read), 6);
  EXPECT_DOUBLE_EQ(part_of(hidden, TimePart::transform), 3);
}

TEST(Breakdown, of_a_step_that_cannot_be_divided_has_compute_in_the_place_of_its_parts) {
  for (const char* timing : {"events", "emulated", "host"}) {
    const Breakdown parts = break_down(some_time(), timing, some_work());
    EXPECT_FALSE(parts[static_cast<size_t>(TimePart::forward)]) << timing;
    EXPECT_GE(part_of(parts, TimePart::compute), 10) << timing;
    EXPECT_DOUBLE_EQ(sum_of(parts), some_time().wall_s) << timing;
  }
}

}  // namespace
}  // namespace stoker
