#include <algorithm>

#include "io/metrics/record/figure_table.h"

namespace stoker {
namespace {

using enum FigureKind;
using R = const RunRecord&;

constexpr const char* kDevice =
    "device.timing_method: host (the trainer's clock: the CPU is the device), events (CUDA events, "
    "read late) or emulated (exact).";
constexpr const char* kGpm = "NVML GPM, since the scrape before.";

const DeviceTime& device_of(R record) { return record.run.totals.device; }

// Of a device that was observed.
Read observed(double DeviceTime::*member) {
  return one([member](R record) {
    return device_of(record).observed > 0 ? Value(device_of(record).*member) : std::nullopt;
  });
}

std::array<Value, kIdleCauses> idle(R record) {
  std::array<Value, kIdleCauses> result;
  if (device_of(record).observed > 0) std::ranges::copy(device_of(record).idle, result.begin());
  return result;
}

}  // namespace

std::vector<Figure> device_figures() {
  return {
      {"device.observed_s", counter, Unit::seconds,
       "Device time observed: busy + idle, from the begin of the loop to the end of the last "
       "finished step.",
       kDevice, observed(&DeviceTime::observed)},
      {"device.busy_s", counter, Unit::seconds, "Device time from the begin to the end of steps.",
       kDevice, observed(&DeviceTime::busy)},
      {"device.copy_s", counter, Unit::seconds,
       "Time of copies to the device, on an engine of its own beside busy_s.", kDevice,
       observed(&DeviceTime::copy)},
      {"device.idle_s.{cause}", counter, Unit::seconds,
       "Device time between steps without work, by what the host did meanwhile. Gaps inside a step "
       "are not seen: a lower bound on a GPU.",
       kDevice, each(idle_cause_name, idle)},
      {"device.busy_share", quotient, Unit::share, "busy_s / observed_s.", "As both are.",
       one([](R r) { return ratio(device_of(r).busy, device_of(r).observed); })},
      {"device.idle_share", quotient, Unit::share, "1 - busy_s / observed_s.", "As both are.",
       one([](R r) {
         // Of a window both are differences, which rounding may put in the wrong order.
         const double idle = std::max(0.0, device_of(r).observed - device_of(r).busy);
         return ratio(idle, device_of(r).observed);
       })},
      {"device.idle_share_by_cause.{cause}", quotient, Unit::share, "idle_s / observed_s.",
       "As both are.",
       each(idle_cause_name, [](R r) { return shares(device_of(r).idle, device_of(r).observed); })},
      {"device.au", gauge, Unit::share,
       "Accelerator utilisation as MLPerf Storage defines it: busy_s / observed_s without the "
       "first step and what came before it.",
       kDevice, one([](R r) { return r.run.totals.au; })},
      {"device.window_idle_share", gauge, Unit::share,
       "Share of the newest profiler window in which no kernel ran, gaps inside steps included.",
       "metrics.profile: CUPTI, by LibTorch's profiler.",
       one([](R r) { return r.run.window_idle; })},
      {"device.kernel_resident_share", gauge, Unit::share,
       "Share of NVML's sample period (up to 1 s) in which any kernel was resident. Says nothing "
       "about how full the device was.",
       "NVML, at a scrape.", one([](R r) { return r.gpu.kernel_resident; })},
      {"device.sm_active_share", gauge, Unit::share, "SMs with work.", kGpm,
       one([](R r) { return r.gpu.gpm.sm_active; })},
      {"device.sm_occupancy_share", gauge, Unit::share, "Resident warps / the most there could be.",
       kGpm, one([](R r) { return r.gpu.gpm.sm_occupancy; })},
      {"device.dram_active_share", gauge, Unit::share,
       "Memory bandwidth / the most there could be.", kGpm,
       one([](R r) { return r.gpu.gpm.dram_active; })},
      {"device.memory_bytes.{kind}", gauge, Unit::bytes, "Device memory, of all processes.",
       "NVML, at a scrape.", several([](R r, const auto& add) {
         add({"used"}, r.gpu.memory_used_bytes);
         add({"total"}, r.gpu.memory_total_bytes);
       })},
      {"device.energy_joules", counter, Unit::joules, "Energy since the driver was loaded.",
       "NVML, at a scrape.", one([](R r) { return r.gpu.energy_joules; })},
  };
}

}  // namespace stoker
