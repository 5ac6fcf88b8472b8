#include "app/tools/doctor/short_run.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temporary_directory.h"

// Which part of a run's course counts, by tables that a run could have left.

namespace stoker {
namespace {

class SteadyPieces : public testing::Test {
 protected:
  // Steps of 10 images: each took so long, in which the trainer waited for this share of the time.
  void add(int64_t steps, double step_s, double waited, int64_t epoch = 0) {
    for (int64_t i = 0; i < steps; ++i) {
      ++step_;
      wall_s_ += step_s;
      rows_ += std::to_string(step_) + "," + std::to_string(epoch) + "," +
               std::to_string(10 * step_) + "," + std::to_string(wall_s_) + "," +
               std::to_string(waited) + "\n";
    }
  }
  std::vector<Piece> pieces(const SteadyFrom& from, double busy_s = 0) {
    std::ofstream(directory_.path() + "/steps.csv") << "steps,epoch,images,wall_s,io_share\n"
                                                    << rows_;
    const nlohmann::json summary = {{"images", 10 * step_}, {"device", {{"busy_s", busy_s}}}};
    return steady_pieces(directory_.path(), summary, from);
  }
  const TemporaryDirectory directory_;
  std::string rows_;
  int64_t step_ = 0;
  double wall_s_ = 0;
};

TEST_F(SteadyPieces, what_queues_held_at_the_beginning_does_not_count) {
  add(6, 0.1, 0);
  add(20, 0.5, 0);
  EXPECT_NEAR(level(pieces({6, 0})), 20, 1e-6);
}

TEST_F(SteadyPieces, a_queue_that_was_found_empty_holds_nothing) {
  add(1, 1, 0.9);
  add(1, 0.1, 0);
  add(10, 0.5, 0.5);
  EXPECT_NEAR(level(pieces({100, 0})), 20, 1e-6);
}

TEST_F(SteadyPieces, no_rate_is_above_the_devices) {
  add(3, 1, 0.9);
  add(10, 0.1, 0);
  // 13 steps kept the device busy for 2.6 s: 50 images/s.
  const std::vector<Piece> found = pieces({2, 0}, 2.6);
  EXPECT_NEAR(level(found), 50, 1e-6);
  EXPECT_NEAR(level_of(found).value, 50, 1e-6);
}

TEST_F(SteadyPieces, first_epochs_are_left_out_where_they_fill_a_cache) {
  add(10, 1, 0.9, 0);
  add(10, 0.1, 0, 1);
  EXPECT_NEAR(level(pieces({3, 1})), 100, 1e-6);
}

TEST_F(SteadyPieces, a_short_run_has_none) {
  add(3, 0.1, 0);
  EXPECT_TRUE(pieces({6, 0}).empty());
}

}  // namespace
}  // namespace stoker
