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

}  // namespace stoker
