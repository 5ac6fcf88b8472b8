#pragma once

#include <cstdint>
#include <string>

#include "app/experiment/experiment_options.h"
#include "io/core/error.h"
#include "io/device/device.h"
#include "io/metrics/clock.h"

namespace stoker {

class RunMeter;

// Opt-in windows of LibTorch's profiler: each leaves profile-<step>.json (Chrome trace) in the run
// directory, and on a GPU the share of the window in which no kernel ran, gaps inside steps
// included, which events around steps cannot see. It slows the steps of a window down, and no other
// program may use CUPTI on this process meanwhile. Does nothing on an emulated device, and says so
// once. The trainer's thread. `meter` must outlive it.
class ProfileWindow {
 public:
  // run_dir: where the files go. log: what went wrong with the profiler, which is no error.
  ProfileWindow(const ProfileOptions& options, const DeviceInfo& device, std::string run_dir,
                RunMeter& meter, Notify log);
  // Drops a window that is open.
  ~ProfileWindow();
  ProfileWindow(const ProfileWindow&) = delete;
  ProfileWindow& operator=(const ProfileWindow&) = delete;

  // Call it before each step: opens and closes windows. `step`: finished ones. Closing one waits
  // for the device and writes a file: time that the caller should not count as the step's.
  void at_step(int64_t step);

 private:
  void open(int64_t step);
  // Writes the window's file, and its share of idle time into the meter.
  void close();

  const ProfileOptions options_;
  // Whether the device has kernels that can be seen, and whether it computes at all.
  const bool gpu_;
  const bool computes_;
  const std::string run_dir_;
  RunMeter& meter_;
  const Notify log_;
  // The open window, if there is one.
  bool opened_ = false;
  int64_t first_step_ = 0;
  TimePoint begin_;
};

}  // namespace stoker
