#include "app/tools/report/course.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

// The same from all windows at once.
double correlation(const std::vector<Piece>& windows) {
  double mean = 0, together = 0, whole = 0;
  for (const Piece& each : windows) mean += each.value / static_cast<double>(windows.size());
  for (size_t i = 0; i < windows.size(); ++i) {
    const double apart = windows[i].value - mean;
    whole += apart * apart;
    if (i > 0) together += apart * (windows[i - 1].value - mean);
  }
  return together / whole;
}

TEST(Course, of_few_windows_keeps_each) {
  Course course;
  EXPECT_TRUE(course.pieces().empty());
  course.add({100, 1});
  course.add({40, 3});
  ASSERT_EQ(course.pieces().size(), 2u);
  EXPECT_EQ(course.pieces()[1].value, 40);
  EXPECT_EQ(course.pieces()[1].length, 3);
  EXPECT_EQ(course.windows(), 2u);
}

TEST(Course, of_any_length_has_a_bounded_number_of_pieces_and_the_same_level) {
  Course course;
  std::vector<Piece> windows;
  for (int i = 0; i < 100'001; ++i) {
    windows.push_back({1000 + 10 * std::sin(0.3 * i), 1 + 0.5 * (i % 3)});
    course.add(windows.back());
  }
  const std::vector<Piece> pieces = course.pieces();
  EXPECT_LE(pieces.size(), 2 * Course::kMostPieces);
  EXPECT_GE(pieces.size(), Course::kMostPieces);
  EXPECT_EQ(course.windows(), windows.size());
  EXPECT_NEAR(level(pieces), level(windows), 1e-9 * level(windows));
  EXPECT_NEAR(course.autocorrelation(), correlation(windows), 1e-6);
}

TEST(Course, of_equal_windows_has_no_correlation) {
  Course course;
  for (int i = 0; i < 10; ++i) course.add({0.1, 1});
  EXPECT_EQ(course.autocorrelation(), 0);
}

TEST(Course, of_many_ranks_has_the_windows_that_all_of_them_have) {
  const TemporaryDirectory root;
  root.write("steps.csv", "steps,wall_s,rate,share\n1,1,9,9\n2,2,10,0.2\n3,3,10,0.2\n4,5,30,0.4\n");
  root.write("rank-1/steps.csv", "steps,wall_s,rate,share\n1,1,9,9\n2,2,20,0.4\n4,5,40,\n");
  const std::vector<FollowedFigure> figures{{"rate", true}, {"share", false}, {"none", true}};
  const std::vector<Course> found = courses_of({root.path(), root / "rank-1"}, figures);
  ASSERT_EQ(found[0].pieces().size(), 2u);  // of the steps 2 and 4
  EXPECT_DOUBLE_EQ(found[0].pieces()[0].value, 30);
  EXPECT_DOUBLE_EQ(found[0].pieces()[1].value, 70);
  EXPECT_DOUBLE_EQ(found[0].pieces()[1].length, 2);
  ASSERT_EQ(found[1].pieces().size(), 1u);
  EXPECT_DOUBLE_EQ(found[1].pieces()[0].value, 0.3);
  EXPECT_TRUE(found[2].pieces().empty());
  EXPECT_EQ(courses_of({root.path()}, figures)[0].windows(), 3u);
  EXPECT_EQ(courses_of({root / "absent"}, figures)[0].windows(), 0u);
}

}  // namespace
}  // namespace stoker
