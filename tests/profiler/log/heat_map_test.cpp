#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "io/profiler/log/darshan_log.h"
#include "tests/profiler/log/profiles.h"

namespace stoker {
namespace {

int64_t sum_of(const std::vector<int64_t>& bins) {
  return std::accumulate(bins.begin(), bins.end(), int64_t{0});
}

IoProfile of_segments(std::vector<IoSegment> reads, double seconds) {
  IoProfile profile;
  profile.end_ns = static_cast<int64_t>(1e9 * seconds);
  profile.files = {file_of(1, "/data/a")};
  profile.files[0].reads = std::move(reads);
  return profile;
}

TEST(HeatMapTest, a_bin_is_a_tenth_of_a_second_while_200_hold_the_session) {
  const HeatMap map = posix_heat_maps(of_segments({{0, 1, 0, 0.01}}, 19.95)).at(0);
  EXPECT_EQ(map.bin_s, 0.1);
  EXPECT_EQ(map.read.size(), 200U);
}

TEST(HeatMapTest, a_longer_session_has_bins_of_twice_the_width) {
  const HeatMap map = posix_heat_maps(of_segments({{0, 1, 0, 0.01}}, 60)).at(0);
  EXPECT_EQ(map.bin_s, 0.4);
  EXPECT_EQ(map.read.size(), 150U);
}

TEST(HeatMapTest, bytes_are_spread_over_the_time_that_they_took) {
  const HeatMap map = posix_heat_maps(of_segments({{0, 1000, 0.05, 0.25}}, 1)).at(0);
  EXPECT_EQ(map.read[0], 250);
  EXPECT_EQ(map.read[1], 500);
  EXPECT_EQ(map.read[2], 250);
  EXPECT_EQ(sum_of(map.read), 1000);
  EXPECT_EQ(sum_of(map.written), 0);
}

TEST(HeatMapTest, no_byte_is_lost_by_rounding_or_at_the_ends) {
  const HeatMap map =
      posix_heat_maps(of_segments({{0, 1001, 0.03, 0.91}, {0, 7, 2, 2}, {0, 5, -1, -0.5}}, 1))
          .at(0);
  EXPECT_EQ(sum_of(map.read), 1013);
}

TEST(HeatMapTest, sums_end_at_the_largest_number) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const HeatMap map =
      posix_heat_maps(of_segments({{0, kMost, 0, 0.01}, {0, kMost, 0, 0.25}}, 1)).at(0);
  EXPECT_EQ(map.read[0], kMost);
}

TEST(HeatMapTest, each_rank_with_segments_has_one_of_the_same_bins) {
  IoProfile profile = of_segments({{0, 1, 0, 50}}, 1);
  profile.files.push_back(file_of(1, "/data/a"));
  profile.files[1].rank = 3;
  profile.files[1].writes = {{0, 2, 0, 1}};
  profile.files.push_back(file_of(2, "/data/none"));
  profile.files[2].rank = 4;
  const HeatMaps maps = posix_heat_maps(profile);
  ASSERT_EQ(maps.size(), 2U);
  EXPECT_EQ(maps.at(0).bin_s, maps.at(3).bin_s);
  EXPECT_EQ(maps.at(0).read.size(), maps.at(3).read.size());
  EXPECT_EQ(sum_of(maps.at(3).written), 2);
}

TEST(HeatMapTest, streams_have_maps_of_their_own_with_the_same_bins) {
  IoProfile profile = of_segments({{0, 1, 0, 50}}, 1);
  profile.files[0].stream_writes = {{0, 2, 0, 1}};
  const HeatMaps maps = stdio_heat_maps(profile);
  ASSERT_EQ(maps.size(), 1U);
  EXPECT_EQ(maps.at(0).bin_s, posix_heat_maps(profile).at(0).bin_s);
  EXPECT_EQ(sum_of(maps.at(0).written), 2);
  EXPECT_EQ(sum_of(posix_heat_maps(profile).at(0).written), 0);
}

TEST(HeatMapTest, without_segments_the_logs_maps_stay) {
  IoProfile profile = of_segments({}, 1);
  profile.posix_heat[3] = {0.25, {1, 2}, {0, 0}};
  EXPECT_EQ(posix_heat_maps(profile).at(3).bin_s, 0.25);
  EXPECT_TRUE(stdio_heat_maps(profile).empty());
}

}  // namespace
}  // namespace stoker
