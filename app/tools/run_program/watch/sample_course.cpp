#include "app/tools/run_program/watch/sample_course.h"

#include <algorithm>
#include <utility>

namespace stoker {

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
