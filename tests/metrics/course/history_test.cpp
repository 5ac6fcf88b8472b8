#include "io/metrics/course/history.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

// After wall_s seconds, with so many images.
RunTotals totals(double wall_s, int64_t images = 0) {
  RunTotals result;
  result.wall_s = wall_s;
  result.images = images;
  return result;
}

TEST(History, short_pieces_become_one_point) {
  History history(10, 1.0);
  for (int i = 1; i <= 4; ++i) history.add(totals(0.25 * i, 10 * i), {}, {});
  ASSERT_EQ(history.points().size(), 1);
  const HistoryPoint& point = history.points()[0];
  EXPECT_DOUBLE_EQ(point.totals.wall_s, 1.0);
  EXPECT_EQ(point.totals.images, 40);
  history.add(totals(1.25), {}, {});
  EXPECT_EQ(history.points().size(), 2);
}

TEST(History, a_long_piece_is_a_point_of_its_own) {
  History history(10, 1.0);
  history.add(totals(5), {}, {});
  history.add(totals(10), {}, {});
  EXPECT_EQ(history.points().size(), 2);
}

TEST(History, a_run_of_any_length_fits_and_nothing_is_lost) {
  constexpr int kPieces = 100'000;
  for (const size_t most : {64, 63}) {
    History history(most, 0.25);
    for (int i = 1; i <= kPieces; ++i) history.add(totals(0.1 * i, 10 * i), 0.5, {});
    EXPECT_LE(history.points().size(), most);
    EXPECT_GE(history.points().size(), 16);
    double end = 0;
    for (const HistoryPoint& point : history.points()) {
      EXPECT_GT(point.totals.wall_s, end);
      end = point.totals.wall_s;
      EXPECT_NEAR(static_cast<double>(point.totals.images), 100 * end, 1e-5);
      EXPECT_NEAR(point.queue_known_s, end, 1e-5);
      EXPECT_NEAR(point.queue_fill_s, 0.5 * end, 1e-5);
    }
    EXPECT_DOUBLE_EQ(end, 0.1 * kPieces);
  }
}

TEST(History, queue_fill_is_the_mean_over_time_and_loss_the_last) {
  History history(10, 4.0);
  history.add(totals(1), 1.0, 7.0);
  history.add(totals(4), 0.2, {});
  ASSERT_EQ(history.points().size(), 1);
  const HistoryPoint first = history.points()[0];
  EXPECT_DOUBLE_EQ(first.queue_fill_s / first.queue_known_s, 0.4);
  EXPECT_DOUBLE_EQ(*first.loss, 7.0);
  history.add(totals(4.5), {}, {});
  ASSERT_EQ(history.points().size(), 2);
  EXPECT_EQ(history.points()[1].queue_known_s, first.queue_known_s);
}

}  // namespace
}  // namespace stoker
