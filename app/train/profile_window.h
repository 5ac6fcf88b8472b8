#pragma once

#include <cstdint>
#include <string>

#include "app/experiment/profile_options.h"
#include "io/core/notify.h"
#include "io/device/device.h"
#include "io/metrics/clock.h"

namespace stoker {

class RunMeter;

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

  // Call it before each step: opens and closes windows. `step`: finished ones.
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
