#pragma once

#include <cstdint>
#include <string>

#include "io/core/config.h"
#include "io/core/notify.h"
#include "io/device/device.h"
#include "io/metrics/run_meter.h"

namespace stoker {

struct ProfileOptions {
  int64_t every_steps = 0;
  int64_t steps = 5;
  template <class V>
  void visit(V& v) {
    v("every_steps", every_steps,
      "0: never; else a window of LibTorch's profiler (Kineto; CUPTI on a GPU) begins after every "
      "so many steps",
      Limits{0, 1e9});
    v("steps", steps, "length of a window", Limits{1, 1e6});
  }
  void check(const Section& section) const;
};

// Opt-in windows of LibTorch's profiler: each leaves profile-<step>.json (Chrome trace) in the run
// directory, and on a GPU the share of the window in which no kernel ran, gaps inside steps
// included, which events around steps cannot see. It slows the steps of a window down, and no other
// program may use CUPTI on this process meanwhile. The trainer's thread.
class ProfileWindow {
 public:
  ProfileWindow(const ProfileOptions& options, const DeviceInfo& device, std::string run_dir,
                RunMeter& meter, Notify log);
  // Drops a window that is open.
  ~ProfileWindow();
  ProfileWindow(const ProfileWindow&) = delete;
  ProfileWindow& operator=(const ProfileWindow&) = delete;

  // Before the next step: opens and closes windows. `step`: finished ones.
  void at_step(int64_t step);

 private:
  void open(int64_t step);
  void close();

  const ProfileOptions options_;
  const bool gpu_;
  const bool computes_;
  const std::string run_dir_;
  RunMeter& meter_;
  const Notify log_;
  bool opened_ = false;
  int64_t first_step_ = 0;  // of the open window
  TimePoint begin_;
};

}  // namespace stoker
