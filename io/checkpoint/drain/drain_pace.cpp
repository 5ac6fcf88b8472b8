#include "io/checkpoint/drain/drain_pace.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

namespace stoker {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kPollS = 0.005;
constexpr double kLookS = 0.05;   // between two looks at the trainer
constexpr double kBurstS = 0.02;  // what was not made use of may be caught up with for so long
constexpr double kShare = 0.9;    // of the time until the next save
constexpr InputWait::Reading kNothingYet{};

std::string rate_text(double bytes_per_s) {
  return std::isfinite(bytes_per_s) ? fmt::format("{:.1f}", 1e-6 * bytes_per_s) : "any";
}

}  // namespace

DrainPace::DrainPace(const std::optional<DrainLimit>& limit, Inputs inputs)
    : inputs_(std::move(inputs)),
      follows_(limit && !limit->fixed && inputs_.input != nullptr),
      limit_(limit && limit->fixed ? static_cast<double>(limit->fixed->bytes) : kInfinite) {}

// Until the first step has ended nothing is known: its wait is that for the first batch.
InputTime DrainPace::input_since() {
  const InputWait::Reading now = inputs_.input->read();
  const InputWait::Reading before = std::exchange(read_, now);
  return before == kNothingYet ? InputTime{} : now - before;
}

void DrainPace::rested() {
  if (!follows_) return;
  const std::lock_guard lock(mutex_);
  controller_.rested(input_since());
}

DrainController::Left DrainPace::left(TimePoint now) {
  const std::optional<TimePoint> next = inputs_.next_save ? inputs_.next_save() : std::nullopt;
  if (next != next_save_) {
    next_save_ = next;
    if (next) due_ = now + from_seconds(kShare * seconds(*next - now));
  }
  return {left_, next ? std::optional(seconds(due_ - now)) : std::nullopt};
}

void DrainPace::begin(double bytes) {
  rested();
  const std::lock_guard lock(mutex_);
  const TimePoint now = Clock::now();
  ticked_ = decided_ = now;
  owed_ = 0;
  waited_ = false;
  left_ = bytes;
  lowered_ = hurried_ = 0;
  next_save_.reset();
  draining_ = true;
  if (follows_) controller_.begin(left(now));
  least_ = most_ = limit();
  tell({});
}

double DrainPace::limit() const {
  if (!follows_) return limit_;
  return free_ ? kInfinite : controller_.limit();
}

void DrainPace::passed(uint64_t bytes, const std::function<bool()>& go_on) {
  if (!limited()) return;
  std::unique_lock lock(mutex_);
  const auto amount = static_cast<double>(bytes);
  owed_ += amount;
  left_ = std::max(0.0, left_ - amount);
  for (;;) {
    tick(Clock::now());
    if (owed_ <= 0) return;
    waited_ = true;
    const double wait = std::min(kPollS, owed_ / limit());
    lock.unlock();
    std::this_thread::sleep_for(from_seconds(wait));
    if (!go_on()) return;
    lock.lock();
  }
}

void DrainPace::tick(TimePoint now) {
  const double rate = limit();
  const double passed = seconds(now - ticked_);
  ticked_ = now;
  owed_ = std::isfinite(rate) ? std::max(owed_ - rate * passed, -rate * kBurstS) : 0;
  if (follows_ && seconds(now - decided_) >= kLookS) decide(now);
}

void DrainPace::decide(TimePoint now) {
  decided_ = now;
  const auto decision =
      controller_.passed({std::exchange(waited_, false), input_since()}, left(now));
  least_ = std::min(least_, limit());
  most_ = std::max(most_, limit());
  lowered_ += decision == DrainDecision::lowered;
  hurried_ += decision == DrainDecision::hurried;
  tell(decision);
}

void DrainPace::tell(std::optional<DrainDecision> decision) {
  if (inputs_.meter == nullptr || !limited()) return;
  inputs_.meter->set_drain_limit(limit());
  if (decision) inputs_.meter->decided(*decision);
  const std::optional<double> slowdown = follows_ ? controller_.slowdown() : std::nullopt;
  if (slowdown) inputs_.meter->set_drain_slowdown(*slowdown);
}

std::string DrainPace::end() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(draining_, false) || !follows_) return "";
  decide(Clock::now());
  std::string text = fmt::format("; at {} to {} MB/s, {} times lowered", rate_text(least_),
                                 rate_text(most_), lowered_);
  if (hurried_ > 0) text += fmt::format(", {} times not, for the next save", hurried_);
  const std::optional<double> slowdown = controller_.slowdown();
  if (slowdown) text += fmt::format("; the input {:.2f} % slower meanwhile", 100 * *slowdown);
  return text;
}

void DrainPace::free(bool free) {
  const std::lock_guard lock(mutex_);
  free_ = free;
}

}  // namespace stoker
