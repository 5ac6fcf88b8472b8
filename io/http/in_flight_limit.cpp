#include "io/http/in_flight_limit.h"

#include <algorithm>
#include <bit>

namespace stoker {
namespace {

constexpr int64_t kShortestWindow = 16;
constexpr size_t kEnough = 8;  // answers of a size, for a median
constexpr int64_t kProbeEvery = 50;

}  // namespace

InFlightLimit::InFlightLimit(int64_t fixed)
    : fixed_(fixed > 0), limit_(fixed > 0 ? fixed : kFirst) {}

void InFlightLimit::answered(uint64_t bytes, Clock::duration took, int64_t in_flight) {
  if (fixed_) return;
  if (begun_before_ > 0) {
    --begun_before_;
    return;
  }
  window_.push_back({static_cast<size_t>(std::bit_width(bytes)) / 2, took});
  reached_ |= in_flight >= limit();
  if (std::ssize(window_) < std::max(kShortestWindow, limit())) return;
  end_window();
  if (probing_) begun_before_ = in_flight - 1;
}

void InFlightLimit::failed() {
  if (fixed_) return;
  if (!busy_) limit_ = std::max(kLeast, limit_ * 7 / 10);
  busy_ = true;  // once for each window: those in flight may all fail for one reason
}

void InFlightLimit::end_window() {
  const double slower = this->slower();
  if (!busy_ && !probing_ && slower > 0) {
    if (slower > 2) {
      limit_ = std::max(kLeast, limit_ - std::max<int64_t>(1, limit_ / 10));
    } else if (reached_ && slower < 4.0 / 3) {
      limit_ = std::min(kMost, limit_ + std::max<int64_t>(1, limit_ / 8));
    }
  }
  probing_ = ++windows_ % kProbeEvery == 0;
  busy_ = reached_ = false;
  window_.clear();
}

double InFlightLimit::slower() {
  std::array<std::vector<Clock::duration>, kSizes> times;
  for (const Answer& answer : window_) times[answer.size].push_back(answer.took);
  double sum = 0;
  size_t count = 0;
  for (size_t size = 0; size < kSizes; ++size) {
    std::vector<Clock::duration>& own = times[size];
    if (own.size() < kEnough) continue;
    const auto middle = own.begin() + std::ssize(own) / 2;
    std::nth_element(own.begin(), middle, own.end());
    const Clock::duration median = std::max(*middle, Clock::duration(1));
    Clock::duration& base = base_[size];
    if (base.count() == 0 || median < base || probing_) base = median;
    sum += static_cast<double>(own.size()) * seconds(median) / seconds(base);
    count += own.size();
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

}  // namespace stoker
