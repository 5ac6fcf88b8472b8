#include "app/train/windows/profile_window.h"

#include <fmt/format.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "io/metrics/run_meter.h"

namespace stoker {
namespace {

namespace profiler = torch::autograd::profiler;
using torch::profiler::impl::ActivityType;
using torch::profiler::impl::ProfilerConfig;
using torch::profiler::impl::ProfilerState;

std::set<ActivityType> activities(bool gpu) {
  std::set<ActivityType> result{ActivityType::CPU};
  if (gpu) result.insert(ActivityType::CUDA);
  return result;
}

// Nanoseconds that at least one kernel covers. Kernels of several streams overlap, so their
// durations cannot be added. Copies do not count as computing.
uint64_t kernel_time(const std::vector<profiler::KinetoEvent>& events) {
  std::vector<std::pair<uint64_t, uint64_t>> kernels;
  for (const profiler::KinetoEvent& event : events) {
    const std::string name = event.name();
    const bool copy = name.starts_with("Memcpy") || name.starts_with("Memset");
    if (event.deviceType() == c10::DeviceType::CUDA && !copy) {
      kernels.emplace_back(event.startNs(), event.endNs());
    }
  }
  std::sort(kernels.begin(), kernels.end());
  uint64_t covered = 0, until = 0;
  for (const auto& [begin, end] : kernels) {
    if (end <= until) continue;
    covered += end - std::max(begin, until);
    until = end;
  }
  return covered;
}

}  // namespace

ProfileWindow::ProfileWindow(const ProfileOptions& options, const DeviceInfo& device,
                             std::string run_dir, RunMeter& meter, Notify log)
    : options_(options),
      gpu_(device.torch_device.is_cuda()),
      computes_(!device.emulated),
      run_dir_(std::move(run_dir)),
      meter_(meter),
      log_(std::move(log)) {
  if (options_.every_steps != 0 && !computes_) {
    log_("metrics.profile: an emulated device computes nothing that could be profiled");
  }
}

ProfileWindow::~ProfileWindow() {
  if (opened_) profiler::disableProfiler();
}

void ProfileWindow::at_step(int64_t step) {
  if (options_.every_steps == 0 || !computes_) return;
  if (opened_ && step - first_step_ >= options_.steps) close();
  if (!opened_ && step > 0 && step % options_.every_steps == 0) open(step);
}

void ProfileWindow::open(int64_t step) {
  const ProfilerConfig config(ProfilerState::KINETO);
  // Kineto ends with each window, so it has to be prepared for every one.
  profiler::prepareProfiler(config, activities(gpu_));
  profiler::enableProfiler(config, activities(gpu_),
                           {at::RecordScope::FUNCTION, at::RecordScope::USER_SCOPE});
  opened_ = true;
  first_step_ = step;
  begin_ = Clock::now();
}

void ProfileWindow::close() {
  opened_ = false;
  const double window_s = seconds(Clock::now() - begin_);
  const auto result = profiler::disableProfiler();
  result->save(fmt::format("{}/profile-{}.json", run_dir_, first_step_));
  if (!gpu_) return;
  const uint64_t busy = kernel_time(result->events());
  if (busy == 0) {
    log_(
        "warning: the profiler saw no kernel (no permission for CUPTI, or another profiler has "
        "it): device idle is known from events only");
    return;
  }
  meter_.set_window_idle(std::max(0.0, 1 - 1e-9 * static_cast<double>(busy) / window_s));
}

}  // namespace stoker
