#include "io/metrics/run_meter.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <set>
#include <thread>

namespace stoker {
namespace {

// After `steps` steps of 30 ms, of which each waited 10 ms for data.
RunTotals after(int64_t steps) {
  const auto n = static_cast<double>(steps);
  RunTotals totals;
  totals.steps = steps;
  totals.images = 32 * steps;
  totals.wall_s = 0.03 * n;
  totals.segments[static_cast<size_t>(Segment::data_wait)] = 0.01 * n;
  totals.segments[static_cast<size_t>(Segment::compute)] = 0.02 * n;
  totals.device.observed = 0.03 * n;
  totals.device.busy = 0.02 * n;
  totals.device.idle[0] = 0.01 * n;
  return totals;
}

TEST(RunMeter, every_phase_has_a_name_of_its_own) {
  std::set<std::string> names;
  for (size_t i = 0; i < kRunPhases; ++i) names.insert(to_string(static_cast<RunPhase>(i)));
  EXPECT_EQ(names.size(), kRunPhases);
}

TEST(RunMeter, tells_what_training_waited_for_its_data) {
  RunMeter meter;
  meter.publish(after(1), 0.5);
  const InputWait::Reading before = meter.input_wait().read();
  meter.publish(after(11), 0.5);
  RunTotals totals = after(12);
  // An evaluation and a checkpoint are no training.
  totals.wall_s += 7;
  totals.segments[static_cast<size_t>(Segment::eval)] = 4;
  totals.segments[static_cast<size_t>(Segment::checkpoint_stall)] = 3;
  meter.publish(totals, {});
  const InputTime passed = meter.input_wait().read() - before;
  EXPECT_NEAR(passed.trained_s, 11 * 0.03, 1e-5);
  EXPECT_NEAR(passed.waited_s, 11 * 0.01, 1e-5);
  EXPECT_NEAR(passed.filled_s, 10 * 0.03 * 0.5, 1e-5);
}

TEST(InputWait, goes_on_where_its_clock_begins_anew) {
  InputWait input;
  input.add({4294.9, 4294.9, 4294.9});
  const InputWait::Reading before = input.read();
  input.add({0.5, 0.25, 0.125});
  const InputTime passed = input.read() - before;
  EXPECT_NEAR(passed.trained_s, 0.5, 1e-5);
  EXPECT_NEAR(passed.waited_s, 0.25, 1e-5);
  EXPECT_NEAR(passed.filled_s, 0.125, 1e-5);
}

TEST(RunMeter, what_was_not_measured_is_absent) {
  const RunMeter::State state = RunMeter().state();
  EXPECT_EQ(state.phase, RunPhase::setup);
  EXPECT_FALSE(state.first_batch_s || state.loss || state.learning_rate || state.exit_code);
  EXPECT_FALSE(state.last_step_unix_s || state.window_idle || state.totals.au);
  EXPECT_FALSE(state.totals.closure_error || state.cache.resident);
  EXPECT_EQ(state.step_times.count, 0);
}

TEST(RunMeter, a_resumed_run_begins_at_its_step) {
  RunMeter meter;
  RunInfo info;
  info.first_step = 500;
  info.steps_planned = 900;
  meter.describe(info);
  EXPECT_EQ(meter.state().totals.steps, 500);
  EXPECT_EQ(meter.state().info.steps_planned, 900);
}

TEST(RunMeter, steps_and_their_waits_are_tallied_once_each) {
  RunMeter meter;
  for (int64_t step = 1; step <= 100; ++step) meter.publish(after(step), std::nullopt);
  RunTotals end = after(100);
  end.wall_s += 5;  // an evaluation is no step
  end.closure_error = 0.0001;
  meter.publish(end, std::nullopt);
  const RunMeter::State state = meter.state();
  EXPECT_EQ(state.totals.steps, 100);
  EXPECT_EQ(state.totals.closure_error, 0.0001);
  EXPECT_EQ(state.step_times.count, 100);
  EXPECT_NEAR(state.step_times.seconds(), 3, 1e-6);
  EXPECT_EQ(state.data_waits.count, 100);
  EXPECT_NEAR(state.data_waits.seconds(), 1, 1e-6);
  EXPECT_GT(state.last_step_unix_s, 1.7e9);
}

TEST(RunMeter, the_history_has_what_passed_between_two_calls) {
  RunMeter meter;
  meter.set_loss(2.5, 0.1);
  for (int64_t step = 1; step <= 100; ++step) meter.publish(after(step), 0.5);
  for (const HistoryPoint& point : meter.history()) {
    EXPECT_NEAR(point.queue_fill_s / point.queue_known_s, 0.5, 1e-9);
    EXPECT_EQ(point.loss, 2.5);
  }
  const HistoryPoint last = meter.history().back();
  EXPECT_NEAR(last.queue_known_s, 3, 1e-9);
  EXPECT_NEAR(last.totals.wall_s, 3, 1e-9);
  EXPECT_EQ(last.totals.images, 3200);
  EXPECT_NEAR(last.totals.device.observed, 3, 1e-9);
  EXPECT_NEAR(last.totals.device.idle[0], 1, 1e-9);
}

TEST(RunMeter, a_reading_has_the_newest_evaluation_however_many_there_were) {
  RunMeter meter;
  for (int64_t i = 1; i <= 100'000; ++i) meter.add_evaluation({i, 5 * i, 50, {{"top1", 0.5}}, 1});
  EXPECT_EQ(meter.state().evaluation->epoch, 100'000);
  EXPECT_LE(meter.evaluations().size(), 512u);
  EXPECT_EQ(meter.evaluations().back().epoch, 100'000);
}

TEST(RunMeter, counts_losses_that_are_no_number) {
  RunMeter meter;
  meter.set_loss(1, 0.1);
  meter.set_loss(std::numeric_limits<double>::quiet_NaN(), 0.1);
  meter.set_loss(std::numeric_limits<double>::infinity(), 0.05);
  EXPECT_EQ(meter.state().nonfinite_losses, 2);
  EXPECT_EQ(meter.state().learning_rate, 0.05);
}

// Whatever moved on, the heart beats: the age after it is less than the time since before it.
TEST(RunMeter, progress_of_any_kind_is_a_heartbeat) {
  RunMeter meter;
  const std::vector<std::function<void()>> kinds{
      [&] { meter.beat(); }, [&] { meter.set_phase(RunPhase::train); },
      [&] { meter.add_evaluated(32); }, [&] { meter.publish(after(1), std::nullopt); }};
  for (const auto& moves_on : kinds) {
    while (meter.state().since_beat_s < 0.002) std::this_thread::yield();
    const double before = meter.state().since_beat_s;
    const TimePoint then = Clock::now();
    moves_on();
    const double age = meter.state().since_beat_s;
    EXPECT_LE(age, seconds(Clock::now() - then));
    EXPECT_GE(before, 0.002);
  }
  EXPECT_EQ(meter.state().eval_batches, 1);
  EXPECT_EQ(meter.state().eval_images, 32);
}

TEST(RunMeter, a_report_without_a_step_is_no_heartbeat) {
  RunMeter meter;
  meter.publish(after(1), std::nullopt);
  while (meter.state().since_beat_s < 0.002) std::this_thread::yield();
  meter.publish(after(1), std::nullopt);
  EXPECT_GE(meter.state().since_beat_s, 0.002);
}

// A wait with a time limit of its own: neither while it lasts nor after it does it count as a
// stall.
TEST(RunMeter, a_wait_that_is_watched_is_no_stall) {
  constexpr std::chrono::hours kHour(1);
  for (const Segment watched : {Segment::checkpoint_stall, Segment::allreduce}) {
    RunMeter meter;
    LiveSegments::Spent spent{};
    meter.segments().begin(watched, Clock::now() - kHour, spent);
    EXPECT_EQ(meter.state().stalled_s, 0);
    spent[static_cast<size_t>(watched)] = kHour;
    meter.segments().begin(Segment::compute, Clock::now(), spent);
    EXPECT_EQ(meter.state().stalled_s, 0);
    meter.beat();  // what was waited before it is over
    const RunMeter::State later = meter.state();
    EXPECT_EQ(later.stalled_s, later.since_beat_s);
  }
  RunMeter meter;
  meter.segments().begin(Segment::data_wait, Clock::now() - kHour, {});
  const RunMeter::State waiting = meter.state();
  EXPECT_EQ(waiting.stalled_s, waiting.since_beat_s);
}

TEST(RunMeter, is_read_while_it_is_written) {
  RunMeter meter;
  std::jthread reader([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const RunMeter::State state = meter.state();
      EXPECT_EQ(state.totals.images, 32 * state.totals.steps);
      EXPECT_LE(meter.history().size(), 512);
    }
  });
  for (int64_t step = 1; step <= 2000; ++step) {
    meter.segments().begin(step % 2 == 0 ? Segment::compute : Segment::data_wait, Clock::now(), {});
    meter.publish(after(step), std::nullopt);
  }
  EXPECT_EQ(meter.state().doing.segment, Segment::compute);
}

TEST(RunMeter, no_progress_is_expected_of_a_process_that_stands_still) {
  RunMeter meter;
  meter.segments().begin(Segment::data_wait, Clock::now(), {});
  meter.segments().beat();
  meter.beat();
  std::this_thread::sleep_for(LiveSegments::kLeastPause + std::chrono::milliseconds(200));
  EXPECT_LT(meter.state().since_beat_s, 1);
}

}  // namespace
}  // namespace stoker
