#include "io/checkpoint/drain/drain_controller.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace stoker {
namespace {

using enum DrainDecision;

constexpr double kMb = 1e6;
constexpr DrainController::Left kAnyTime{1000 * kMb, std::nullopt};

// A training that waited for a share of its time until now.
DrainController after_waiting(double waited_share) {
  DrainController controller;
  for (int i = 0; i < 20; ++i) controller.rested({1, waited_share});
  controller.begin(kAnyTime);
  return controller;
}

// A quarter of a second in which the limit was made use of.
std::optional<DrainDecision> quarter(DrainController& controller, double waited_s,
                                     const DrainController::Left& left = kAnyTime) {
  return controller.passed({true, {0.25, waited_s}}, left);
}

TEST(DrainController, is_faster_and_faster_while_nobody_suffers) {
  DrainController controller = after_waiting(0);
  double before = controller.limit();
  EXPECT_EQ(before, DrainController::kSlowest);
  for (int i = 0; i < 20; ++i, before = controller.limit()) {
    EXPECT_EQ(quarter(controller, 0), raised);
    EXPECT_DOUBLE_EQ(controller.limit(), 1.25 * before);
  }
}

TEST(DrainController, halves_where_the_trainer_waits_and_then_gains_little_by_little) {
  DrainController controller = after_waiting(0);
  while (controller.limit() < 100 * kMb) quarter(controller, 0);
  const double harmful = controller.limit();
  EXPECT_EQ(quarter(controller, 0.05), lowered);
  EXPECT_DOUBLE_EQ(controller.limit(), harmful / 2);
  int decisions = 0;
  while (controller.limit() < harmful) {
    const double before = controller.limit();
    const std::optional<DrainDecision> decision = quarter(controller, 0);
    EXPECT_TRUE(decision == raised || decision == held);
    EXPECT_LE(controller.limit() - before, harmful / 32 + 1);
    ++decisions;
  }
  EXPECT_GE(decisions, 16);
}

TEST(DrainController, waits_that_were_usual_before_are_no_harm) {
  for (const double share : {0.1, 0.5, 0.9}) {
    DrainController controller = after_waiting(share);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(quarter(controller, 0.25 * share), raised) << share;
    EXPECT_NEAR(*controller.slowdown(), 0, 1e-9);
  }
}

TEST(DrainController, a_tenth_more_than_usual_is_harm_however_much_was_usual) {
  for (const double share : {0.0, 0.1, 0.5, 0.9}) {
    DrainController controller = after_waiting(share);
    for (int i = 0; i < 10; ++i) quarter(controller, 0.25 * share);
    // The same compute, and a tenth of the time on top.
    const DrainController::Passed passed{true, {0.275, 0.25 * share + 0.025}};
    EXPECT_EQ(controller.passed(passed, kAnyTime), lowered) << share;
    EXPECT_NEAR(*controller.slowdown(), 0.025 / 2.75, 1e-9);
  }
}

TEST(DrainController, what_was_suffered_is_made_good_before_it_goes_faster) {
  DrainController controller = after_waiting(0);
  for (int i = 0; i < 4; ++i) quarter(controller, 0);
  EXPECT_EQ(quarter(controller, 0.02), lowered);
  std::vector<std::optional<DrainDecision>> decisions;
  do {
    decisions.push_back(quarter(controller, 0));
  } while (decisions.back() == held);
  EXPECT_EQ(decisions.back(), raised);
  // Half of 1 % of a quarter of a second is paid in each.
  EXPECT_NEAR(static_cast<double>(decisions.size()), (0.02 - 4 * 0.00125) / 0.00125, 3);
}

TEST(DrainController, a_quiet_hour_excuses_no_bad_second) {
  DrainController controller = after_waiting(0);
  for (int i = 0; i < 4 * 3600; ++i) controller.passed({false, {0.25, 0}}, kAnyTime);
  EXPECT_EQ(quarter(controller, 0.05), lowered);
}

TEST(DrainController, halves_before_the_trainer_waits_where_its_queue_runs_dry) {
  DrainController controller;
  for (int i = 0; i < 20; ++i) controller.rested({1, 0, 0.9});
  controller.begin(kAnyTime);
  const auto with_queue = [&](double fill) {
    return controller.passed({true, {0.25, 0, 0.25 * fill}}, kAnyTime);
  };
  EXPECT_EQ(with_queue(0.9), raised);
  EXPECT_EQ(with_queue(0.5), raised);
  EXPECT_EQ(with_queue(0.3), held);
  EXPECT_EQ(with_queue(0.2), lowered);
  EXPECT_EQ(with_queue(0.1), lowered);
  EXPECT_EQ(with_queue(0.15), held);
  EXPECT_EQ(with_queue(0.4), held);
  EXPECT_EQ(with_queue(0.5), raised);
}

TEST(DrainController, a_queue_that_is_always_empty_says_nothing) {
  DrainController controller = after_waiting(0.5);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(quarter(controller, 0.125), raised);
}

TEST(DrainController, does_not_go_faster_than_what_is_made_use_of) {
  DrainController controller = after_waiting(0);
  const double limit = controller.limit();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(controller.passed({false, {0.25, 0}}, kAnyTime), held);
  }
  EXPECT_EQ(controller.limit(), limit);
}

TEST(DrainController, is_never_slower_than_the_next_save_allows) {
  DrainController controller = after_waiting(0);
  const DrainController::Left soon{1000 * kMb, 20};
  controller.begin(soon);
  EXPECT_DOUBLE_EQ(controller.limit(), 50 * kMb);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(quarter(controller, 0.1, soon), hurried);
  EXPECT_DOUBLE_EQ(controller.limit(), 50 * kMb);
  // Little is left: the trainer's turn again.
  EXPECT_EQ(quarter(controller, 0.1, {100 * kMb, 20}), lowered);
  EXPECT_DOUBLE_EQ(controller.limit(), 12.5 * kMb);
}

TEST(DrainController, has_no_limit_once_the_time_is_up) {
  DrainController controller = after_waiting(0);
  controller.passed({true, {}}, {1, -0.5});
  EXPECT_TRUE(std::isinf(controller.limit()));
  controller.passed({true, {}}, kAnyTime);
  EXPECT_EQ(controller.limit(), DrainController::kSlowest);
}

TEST(DrainController, decides_nothing_while_nobody_trains) {
  DrainController controller = after_waiting(0);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(controller.passed({true, {}}, kAnyTime), std::nullopt);
  EXPECT_EQ(controller.slowdown(), std::nullopt);
}

TEST(DrainController, begins_anew_with_half_of_what_it_had) {
  DrainController controller = after_waiting(0);
  while (controller.limit() < 100 * kMb) quarter(controller, 0);
  const double limit = controller.limit();
  controller.begin(kAnyTime);
  EXPECT_DOUBLE_EQ(controller.limit(), limit / 2);
}

TEST(DrainController, learns_what_is_usual_from_the_first_moments_of_a_drain_from_the_start) {
  DrainController controller;
  controller.begin(kAnyTime);
  int quarters = 0;
  while (!quarter(controller, 0.125)) ++quarters;
  EXPECT_NEAR(quarters, 3, 1);
  EXPECT_EQ(quarter(controller, 0.125), raised);
}

// A disk that gives the loader what the drain leaves, and a trainer that has some batches ahead.
struct SharedDisk {
  double disk = 500 * kMb;
  double input = 350 * kMb;  // what training takes at full speed
  double ahead_s = 0.2;
  double set = 1400 * kMb;
  std::optional<double> due_s = {};

  struct Result {
    double drain_s = 0;
    double slowdown = 0;
  };
  Result drain() const {
    DrainController controller = [&] {
      DrainController fresh;
      for (int i = 0; i < 20; ++i) fresh.rested({1, 0, ahead_s > 0 ? 1. : 0.});
      return fresh;
    }();
    const auto left = [&](double bytes, double at) {
      return DrainController::Left{bytes, due_s ? std::optional(*due_s - at) : std::nullopt};
    };
    controller.begin(left(set, 0));
    constexpr double kStep = 0.05;
    double moved = 0, at = 0, waited = 0, ahead = ahead_s;
    for (; moved < set; at += kStep) {
      const double rate = std::min(controller.limit(), disk);
      const double gets = (disk - std::min(rate, disk - input / 10)) / input;
      ahead += kStep * gets - kStep;
      const double wait = std::max(0.0, -ahead);
      ahead = std::min(ahead + wait, ahead_s);
      waited += wait;
      moved += rate * kStep;
      const double fill = ahead_s > 0 ? ahead / ahead_s : 0;
      controller.passed({controller.limit() < disk, {kStep, wait, kStep * fill}},
                        left(set - moved, at));
    }
    return {at, waited / (at - waited)};
  }
};

TEST(DrainController, slows_the_input_down_by_at_most_one_per_cent_on_a_disk_that_has_room) {
  for (const double input : {100., 250., 350., 450.}) {
    for (const double ahead_s : {0.0, 0.2, 2.0}) {
      const SharedDisk shared{.input = input * kMb, .ahead_s = ahead_s, .set = 6000 * kMb};
      const SharedDisk::Result result = shared.drain();
      EXPECT_LE(result.slowdown, DrainController::kAllowed) << input << " " << ahead_s;
      // What the disk has to spare is made use of, but for the way there.
      EXPECT_LT(result.drain_s, 15 + 1.5 * shared.set / (shared.disk - shared.input))
          << input << " " << ahead_s;
    }
  }
}

TEST(DrainController, is_done_before_the_next_save_where_the_disk_can_do_it_at_all) {
  for (const double due_s : {3.5, 5., 10., 30.}) {
    const SharedDisk shared{.input = 450 * kMb, .due_s = due_s};
    EXPECT_LT(shared.drain().drain_s, due_s + 0.15) << due_s;
  }
}

}  // namespace
}  // namespace stoker
