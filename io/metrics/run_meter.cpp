#include "io/metrics/run_meter.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace stoker {
namespace {

// The trainer's time in these segments between two readings.
double spent_s(const LiveSegments::Reading& now, const LiveSegments::Reading& before,
               std::initializer_list<Segment> segments) {
  double spent = 0;
  for (const Segment segment : segments) {
    const auto i = static_cast<size_t>(segment);
    spent += std::max(0.0, now.spent_s[i] - before.spent_s[i]);
  }
  return spent;
}

}  // namespace

RunTotals operator-(const RunTotals& now, const RunTotals& before) {
  RunTotals piece = now;
  piece.steps -= before.steps;
  piece.images -= before.images;
  piece.wall_s -= before.wall_s;
  for (size_t i = 0; i < kSegments; ++i) piece.segments[i] -= before.segments[i];
  piece.device.observed -= before.device.observed;
  piece.device.busy -= before.device.busy;
  piece.device.copy -= before.device.copy;
  for (size_t i = 0; i < kIdleCauses; ++i) piece.device.idle[i] -= before.device.idle[i];
  if (piece.pass && before.pass) {
    piece.pass->forward_s -= before.pass->forward_s;
    piece.pass->backward_s -= before.pass->backward_s;
    piece.pass->update_s -= before.pass->update_s;
  }
  return piece;
}

const char* to_string(PageCache state) {
  constexpr std::array<const char*, 3> kNames{"as_is", "cold", "warm"};
  return kNames[static_cast<size_t>(state)];
}

const char* to_string(RunPhase phase) {
  constexpr std::array<const char*, kRunPhases> kNames{"setup",     "train",   "eval",  "flush",
                                                       "completed", "stopped", "failed"};
  return kNames[static_cast<size_t>(phase)];
}

void RunMeter::describe(const RunInfo& info) {
  const std::lock_guard lock(mutex_);
  state_.info = info;
  state_.totals.steps = info.first_step;
}

void RunMeter::set_phase(RunPhase phase) {
  const std::lock_guard lock(mutex_);
  state_.phase = phase;
  if (phase == RunPhase::train && !state_.loop_begin) {
    state_.at_begin = read_machine(state_.info.disks);
    state_.loop_begin = Clock::now();
  }
  moved_on();
}

void RunMeter::end_loop(const std::optional<Spread>& rates) {
  const std::lock_guard lock(mutex_);
  state_.at_end = read_machine(state_.info.disks);
  state_.window_rates = rates;
}

void RunMeter::end(RunPhase phase, int exit_code, const std::string& error) {
  const std::lock_guard lock(mutex_);
  state_.phase = phase;
  state_.exit_code = exit_code;
  state_.error = error;
  moved_on();
  if (!state_.ended) state_.ended = beat_;
}

void RunMeter::set_ranks(std::vector<RankTimes> ranks) {
  const std::lock_guard lock(mutex_);
  state_.ranks = std::move(ranks);
}

void RunMeter::moved_on() {
  beat_ = Clock::now();
  at_beat_ = segments_.read();
}

void RunMeter::beat() {
  const std::lock_guard lock(mutex_);
  moved_on();
}

void RunMeter::publish(const RunTotals& totals, std::optional<double> queue_fill) {
  const std::lock_guard lock(mutex_);
  const RunTotals piece = totals - state_.totals;
  const auto spent = [&](Segment segment) { return piece.segments[static_cast<size_t>(segment)]; };
  const double trained_s = piece.wall_s - spent(Segment::eval) - spent(Segment::checkpoint_stall) -
                           spent(Segment::paused);
  input_wait_.add({trained_s, spent(Segment::data_wait), queue_fill.value_or(0) * trained_s});
  history_.add(totals, queue_fill, state_.loss);
  if (totals.steps > state_.totals.steps) {
    step_times_.add(from_seconds(piece.wall_s));
    data_waits_.add(from_seconds(piece.segments[static_cast<size_t>(Segment::data_wait)]));
    state_.last_step_unix_s = unix_now();
    moved_on();
    if (epochs_.empty() || epochs_.back().second != totals.epoch) {
      epochs_.emplace_back(state_.totals.steps + 1, totals.epoch);
    }
    if (epochs_.size() == 1) {
      state_.first_epoch_steps += piece.steps;
      state_.first_epoch_wait_s = totals.segments[static_cast<size_t>(Segment::data_wait)];
    }
    state_.step_s = trained_s;
    state_.step_images = piece.images;
  }
  state_.totals = totals;
}

void RunMeter::set_first_batch(double seconds) {
  const std::lock_guard lock(mutex_);
  state_.first_batch_s = seconds;
  state_.before_first_batch = segments_.read();
}

void RunMeter::set_loss(double loss, double learning_rate) {
  const std::lock_guard lock(mutex_);
  state_.loss = loss;
  state_.learning_rate = learning_rate;
  if (!std::isfinite(loss)) ++state_.nonfinite_losses;
}

void RunMeter::add_evaluation(const Evaluation& evaluation) {
  const std::lock_guard lock(mutex_);
  state_.evaluation = evaluation;
  evaluations_.add(evaluation);
}

void RunMeter::add_evaluated(int64_t images) {
  const std::lock_guard lock(mutex_);
  ++state_.eval_batches;
  state_.eval_images += images;
  moved_on();
}

void RunMeter::set_goodput(const Goodput& goodput) {
  const std::lock_guard lock(mutex_);
  state_.goodput = goodput;
}

void RunMeter::set_cache(const CacheEvidence& evidence) {
  const std::lock_guard lock(mutex_);
  state_.cache = evidence;
}

void RunMeter::sink_failed() {
  const std::lock_guard lock(mutex_);
  ++state_.sinks_failed;
}

void RunMeter::set_window_idle(double share) {
  const std::lock_guard lock(mutex_);
  state_.window_idle = share;
}

RunMeter::State RunMeter::state() const {
  const std::lock_guard lock(mutex_);
  State result = state_;
  result.doing = segments_.read();
  const auto since_beat = [&](std::initializer_list<Segment> segments) {
    return spent_s(result.doing, at_beat_, segments);
  };
  result.since_beat_s =
      std::max(0.0, seconds(Clock::now() - beat_) - since_beat({Segment::paused}));
  result.stalled_s = std::max(
      0.0, result.since_beat_s - since_beat({Segment::checkpoint_stall, Segment::allreduce}));
  result.step_times = step_times_.totals();
  result.data_waits = data_waits_.totals();
  return result;
}

std::vector<HistoryPoint> RunMeter::history() const {
  const std::lock_guard lock(mutex_);
  return history_.points();
}

std::vector<Evaluation> RunMeter::evaluations() const {
  const std::lock_guard lock(mutex_);
  return evaluations_.kept();
}

std::optional<int64_t> RunMeter::epoch_of(int64_t step) const {
  const std::lock_guard lock(mutex_);
  if (epochs_.empty() || step < epochs_.front().first || step > state_.totals.steps) return {};
  return std::prev(std::upper_bound(epochs_.begin(), epochs_.end(),
                                    std::pair(step, std::numeric_limits<int64_t>::max())))
      ->second;
}

}  // namespace stoker
