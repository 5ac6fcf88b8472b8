#include <algorithm>

#include "io/metrics/record/figure_table.h"

namespace stoker {
namespace {

using enum FigureKind;
using R = const RunRecord&;

constexpr const char* kDevice =
    "device.timing_method says how. host: the trainer's clock, as the CPU is the device. events: "
    "CUDA events, read later. emulated: exact.";
constexpr const char* kGpm = "NVML's GPM, for the time since the last scrape.";

const DeviceTime& device_of(R record) { return record.run.totals.device; }

// A figure of a device that was observed.
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

std::vector<Figure> busy_and_idle() {
  return {
      {"device.observed_s", counter, Unit::seconds,
       "The device time that was observed, busy and idle: from the begin of the loop to the end of "
       "the last finished step.",
       kDevice, observed(&DeviceTime::observed)},
      {"device.busy_s", counter, Unit::seconds,
       "Device time between the begin and the end of steps.", kDevice, observed(&DeviceTime::busy)},
      {"device.copy_s", counter, Unit::seconds,
       "Time of copies to the device. A copy engine of its own makes them, so this runs beside "
       "busy_s.",
       kDevice, observed(&DeviceTime::copy)},
      {"device.idle_s.{cause}", counter, Unit::seconds,
       "Time in which the device has no work, by what the host does meanwhile: between steps, and "
       "on a GPU within them as far as a step takes longer than one that was launched ahead.",
       kDevice, each(idle_cause_name, idle)},
      {"device.busy_share", quotient, Unit::share,
       "The share of the observed time in which the device was busy: busy_s / observed_s.",
       "Computed from the two figures.",
       one([](R r) { return ratio(device_of(r).busy, device_of(r).observed); })},
      {"device.idle_share", quotient, Unit::share,
       "The share of the observed time of the run in which the device (cpu, gpu or emulated) was "
       "idle: 1 - busy_s / observed_s.",
       "Computed from the two figures.", one([](R r) {
         // In a window both are differences, and rounding may put them in the wrong order.
         const double idle = std::max(0.0, device_of(r).observed - device_of(r).busy);
         return ratio(idle, device_of(r).observed);
       }),
       true, "stoker_device_idle_ratio"},
      {"device.idle_share_by_cause.{cause}", quotient, Unit::share,
       "The share of the observed time that the device was idle for this cause: idle_s / "
       "observed_s.",
       "Computed from the two figures.",
       each(idle_cause_name, [](R r) { return shares(device_of(r).idle, device_of(r).observed); })},
      {"device.au", gauge, Unit::share,
       "Accelerator utilisation as MLPerf Storage defines it: busy_s / observed_s without the "
       "first step and what came before it.",
       kDevice, one([](R r) { return r.run.totals.au; })},
      {"device.window_idle_share", gauge, Unit::share,
       "The share of the newest profiler window in which no kernel ran; gaps inside steps are "
       "included.",
       "metrics.profile: CUPTI, by LibTorch's profiler.",
       one([](R r) { return r.run.window_idle; })},
  };
}

std::vector<Figure> counted_by_nvml() {
  return {
      {"device.kernel_resident_share", gauge, Unit::share,
       "The share of NVML's sample period (up to 1 s) in which any kernel was resident. It says "
       "nothing about how full the device was.",
       "NVML, when the figure is read.", one([](R r) { return r.gpu.kernel_resident; })},
      {"device.sm_active_share", gauge, Unit::share, "The share of SMs that had work.", kGpm,
       one([](R r) { return r.gpu.gpm.sm_active; })},
      {"device.sm_occupancy_share", gauge, Unit::share,
       "Resident warps / the most that there can be.", kGpm,
       one([](R r) { return r.gpu.gpm.sm_occupancy; })},
      {"device.dram_active_share", gauge, Unit::share,
       "Memory bandwidth / the most that there can be.", kGpm,
       one([](R r) { return r.gpu.gpm.dram_active; })},
      {"device.memory_bytes.{kind}", gauge, Unit::bytes,
       "Device memory that all processes use, and that there is.", "NVML, when the figure is read.",
       several([](R r, const auto& add) {
         add({"used"}, r.gpu.memory_used_bytes);
         add({"total"}, r.gpu.memory_total_bytes);
       })},
      {"device.energy_joules", counter, Unit::joules, "Energy since the driver was loaded.",
       "NVML, when the figure is read.", one([](R r) { return r.gpu.energy_joules; })},
  };
}

}  // namespace

std::vector<Figure> device_figures() { return joined({busy_and_idle(), counted_by_nvml()}); }

}  // namespace stoker
