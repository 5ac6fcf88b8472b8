#include "app/tools/run_program/watch/samples.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace stoker {
namespace {

// A mean over both pieces of time; what one of them does not know counts as the other's.
std::optional<double> mean_of(const std::optional<double>& a, double a_s,
                              const std::optional<double>& b, double b_s) {
  if (!a) return b;
  if (!b || a_s + b_s <= 0) return a;
  return (*a * a_s + *b * b_s) / (a_s + b_s);
}

}  // namespace

DoingSeconds& DoingSeconds::operator+=(const DoingSeconds& other) {
  for (size_t i = 0; i < kDoings; ++i) seconds[i] += other.seconds[i];
  return *this;
}

double DoingSeconds::sum() const { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }

void merge_windows(SampleWindow& window, double begin_s, const SampleWindow& later) {
  const double first_s = window.end_s - begin_s;
  const double second_s = later.end_s - window.end_s;
  window.disk_busy = mean_of(window.disk_busy, first_s, later.disk_busy, second_s);
  window.gpu_busy = mean_of(window.gpu_busy, first_s, later.gpu_busy, second_s);
  window.other_cores = mean_of(window.other_cores, first_s, later.other_cores, second_s);
  window.end_s = later.end_s;
  // Both lists are in the order of threads.
  std::vector<SampleWindow::Share> both;
  both.reserve(window.threads.size() + later.threads.size());
  auto own = window.threads.begin();
  for (const SampleWindow::Share& share : later.threads) {
    while (own != window.threads.end() && own->thread < share.thread) both.push_back(*own++);
    both.push_back(share);
    if (own != window.threads.end() && own->thread == share.thread) both.back().did += own++->did;
  }
  both.insert(both.end(), own, window.threads.end());
  window.threads = std::move(both);
}

void SampleCourse::add(size_t thread, const DoingSeconds& did) {
  const auto place =
      std::ranges::lower_bound(open_.threads, thread, {}, &SampleWindow::Share::thread);
  if (place != open_.threads.end() && place->thread == thread) {
    place->did += did;
  } else {
    open_.threads.insert(place, {.thread = thread, .did = did});
  }
}

void SampleCourse::close(double now_s, const SampleWindow& machine) {
  SampleWindow look{.end_s = now_s,
                    .threads = {},
                    .disk_busy = machine.disk_busy,
                    .gpu_busy = machine.gpu_busy,
                    .other_cores = machine.other_cores};
  if (open_.end_s <= begin_s_) open_.end_s = begin_s_;
  merge_windows(open_, begin_s_, look);
  if (open_.end_s - begin_s_ >= length_s_) keep();
}

void SampleCourse::keep() {
  begin_s_ = open_.end_s;
  windows_.push_back(std::move(open_));
  open_ = SampleWindow();
  open_.end_s = begin_s_;
  if (windows_.size() < most_) return;
  std::vector<SampleWindow> fewer;
  fewer.reserve(windows_.size() / 2 + 1);
  double begin_s = 0;
  for (size_t i = 0; i < windows_.size(); i += 2) {
    fewer.push_back(std::move(windows_[i]));
    if (i + 1 < windows_.size()) merge_windows(fewer.back(), begin_s, windows_[i + 1]);
    begin_s = fewer.back().end_s;
  }
  windows_ = std::move(fewer);
  length_s_ *= 2;
}

std::vector<SampleWindow> SampleCourse::finish() {
  if (open_.threads.empty()) return std::move(windows_);
  // What is added behind the last look has no time of its own.
  if (open_.end_s > begin_s_ || windows_.empty()) {
    windows_.push_back(std::move(open_));
  } else {
    open_.end_s = windows_.back().end_s;
    merge_windows(windows_.back(), 0, open_);
  }
  return std::move(windows_);
}

}  // namespace stoker
