#include "io/metrics/history.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

HistoryPoint piece(double end_s, double wall_s) {
  HistoryPoint result;
  result.end_s = end_s;
  result.wall_s = wall_s;
  result.segments.fill(wall_s / kSegments);
  result.observed = wall_s / 2;
  result.idle.fill(wall_s / 8);
  result.images = 10;
  return result;
}

TEST(History, short_pieces_become_one_point) {
  History history(10, 1.0);
  for (int i = 1; i <= 4; ++i) history.add(piece(0.25 * i, 0.25));
  ASSERT_EQ(history.points().size(), 1);
  const HistoryPoint& point = history.points()[0];
  EXPECT_DOUBLE_EQ(point.end_s, 1.0);
  EXPECT_DOUBLE_EQ(point.wall_s, 1.0);
  EXPECT_EQ(point.images, 40);
  history.add(piece(1.25, 0.25));
  EXPECT_EQ(history.points().size(), 2);
}

TEST(History, a_long_piece_is_a_point_of_its_own) {
  History history(10, 1.0);
  history.add(piece(5, 5));
  history.add(piece(10, 5));
  EXPECT_EQ(history.points().size(), 2);
}

TEST(History, a_run_of_any_length_fits_and_nothing_is_lost) {
  constexpr int kPieces = 100'000;
  History history(64, 0.25);
  for (int i = 1; i <= kPieces; ++i) history.add(piece(0.1 * i, 0.1));
  EXPECT_LE(history.points().size(), 64);
  EXPECT_GE(history.points().size(), 16);
  HistoryPoint sum;
  double end = 0;
  for (const HistoryPoint& point : history.points()) {
    EXPECT_GT(point.end_s, end);
    end = point.end_s;
    sum.wall_s += point.wall_s;
    sum.images += point.images;
    sum.observed += point.observed;
    sum.idle[0] += point.idle[0];
    sum.segments[0] += point.segments[0];
  }
  EXPECT_DOUBLE_EQ(end, 0.1 * kPieces);
  EXPECT_NEAR(sum.wall_s, 0.1 * kPieces, 1e-5);
  EXPECT_EQ(sum.images, 10 * kPieces);
  EXPECT_NEAR(sum.observed, 0.05 * kPieces, 1e-5);
  EXPECT_NEAR(sum.idle[0], 0.0125 * kPieces, 1e-5);
  EXPECT_NEAR(sum.segments[0], 0.1 / kSegments * kPieces, 1e-5);
}

TEST(History, queue_fill_is_the_mean_over_time_and_loss_the_last) {
  History history(10, 4.0);
  HistoryPoint first = piece(1, 1), second = piece(4, 3), third = piece(4.5, 0.5);
  first.queue_fill = 1.0;
  first.loss = 7.0;
  second.queue_fill = 0.2;
  history.add(first);
  history.add(second);
  ASSERT_EQ(history.points().size(), 1);
  EXPECT_DOUBLE_EQ(*history.points()[0].queue_fill, 0.4);
  EXPECT_DOUBLE_EQ(*history.points()[0].loss, 7.0);
  history.add(third);
  EXPECT_FALSE(history.points()[1].queue_fill);
  EXPECT_FALSE(history.points()[1].loss);
}

}  // namespace
}  // namespace stoker
