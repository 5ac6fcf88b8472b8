#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "io/metrics/clock.h"

namespace stoker {

// The part of the C interface of NVML (nvml.h of the CUDA toolkit) that is used here, so that
// neither toolkit nor driver is needed to build. The test compares it with the header where there
// is one.
namespace nvml_abi {

// Names and layouts are NVML's, in our spelling; pointers are to what the library owns.
using Return = unsigned;  // an enum
inline constexpr Return kSuccess = 0;
struct Device;
struct Sample;
// What the GPU did in the last sample period.
struct Utilization {
  unsigned gpu;  // percent
  unsigned memory;
};
// Bytes.
struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
// One metric of a pair of samples.
struct GpmMetric {
  unsigned id;    // in
  Return status;  // out, as all below
  double value;
  const char* short_name;
  const char* long_name;
  const char* unit;
};
// Numbers of the metrics that are asked for; values are per cent.
inline constexpr unsigned kGpmGraphicsUtil = 1;
inline constexpr unsigned kGpmSmUtil = 2;
inline constexpr unsigned kGpmSmOccupancy = 3;
inline constexpr unsigned kGpmDramBandwidthUtil = 10;
inline constexpr unsigned kGpmVersion = 1;
// NVML's array has grown from 98 to 333 entries under the same version number, so it is longer here
// than in any driver.
inline constexpr size_t kGpmCapacity = 1024;
// In: all but the metrics' results. Too large for a stack.
struct GpmMetricsGet {
  unsigned version;
  unsigned count;
  Sample* earlier;
  Sample* later;
  GpmMetric metrics[kGpmCapacity];
};
// Whether a device has GPM counters.
struct GpmSupport {
  unsigned version;
  unsigned supported;
};

// The functions, by the names of nvml.h without their prefix and version.
using Init = Return();
using Shutdown = Return();
using GetHandleByIndex = Return(unsigned index, Device** device);
using GetUtilization = Return(Device* device, Utilization* utilization);
using GetMemory = Return(Device* device, Memory* memory);
using GetEnergy = Return(Device* device, unsigned long long* millijoules);
using GpmQuerySupport = Return(Device* device, GpmSupport* support);
using GpmSampleAlloc = Return(Sample** sample);
using GpmSampleFree = Return(Sample* sample);
using GpmSampleGet = Return(Device* device, Sample* sample);
using GpmGetMetrics = Return(GpmMetricsGet* request);

}  // namespace nvml_abi

// The loaded library, with the functions found in it. Shared by all objects that use it.
struct NvmlLibrary;

// Shares of the time between the last two readings that were at least 100 ms apart, by the hardware
// counters of Hopper and newer GPUs (GPM).
struct GpmReadings {
  std::optional<double> graphics_active;  // any compute or graphics work was on the GPU
  std::optional<double> sm_active;
  std::optional<double> sm_occupancy;  // resident warps / the most there could be
  std::optional<double> dram_active;   // memory bandwidth used / theoretical
};

// What NVML says of a GPU now. A value. Absent: this GPU or driver does not say.
struct GpuReadings {
  // Share of NVML's sample period (1/6 s to 1 s) in which any kernel was resident; says nothing
  // about how full the GPU was.
  std::optional<double> kernel_resident;
  std::optional<uint64_t> memory_total_bytes;
  std::optional<uint64_t> memory_used_bytes;  // by all processes, and the driver's reserve
  std::optional<double> energy_joules;        // since the driver was loaded
  GpmReadings gpm;                            // absent also at the first reading
};

// One GPU; keeps the library loaded. One thread at a time, because read() compares with the reading
// before.
class NvmlDevice {
 public:
  // `device` belongs to this library. Only Nvml calls it.
  NvmlDevice(std::shared_ptr<const NvmlLibrary> library, nvml_abi::Device* device);
  // Asks the driver now: some microseconds to milliseconds. Never throws; what the driver refuses
  // is absent.
  GpuReadings read(TimePoint now = Clock::now());

 private:
  struct FreeSample {
    void operator()(nvml_abi::Sample* sample) const;
    std::shared_ptr<const NvmlLibrary> library;
  };
  using Sample = std::unique_ptr<nvml_abi::Sample, FreeSample>;

  // Null where the device has no such counters.
  Sample new_sample() const;
  // Updates gpm_ where the last sample is old enough.
  void read_gpm(TimePoint now);

  std::shared_ptr<const NvmlLibrary> library_;
  nvml_abi::Device* device_;
  Sample last_;                         // null: no GPM here
  Sample next_;                         // memory for the sample after last_
  std::optional<TimePoint> last_time_;  // absent: last_ is empty
  GpmReadings gpm_;
};

// NVIDIA's management library, which comes with the driver; loaded here, closed with the last
// object that uses it. Any thread.
class Nvml {
 public:
  // Never throws: where the library is absent, is not NVML, or finds no driver, available() is
  // false.
  explicit Nvml(const std::string& library = "libnvidia-ml.so.1");
  // Whether the library was found and agreed to start.
  bool available() const { return library_ != nullptr; }
  // Absent: there is no such GPU, or nothing is available. The index is NVML's own, which
  // CUDA_VISIBLE_DEVICES does not change.
  std::optional<NvmlDevice> device_by_index(unsigned index) const;

 private:
  std::shared_ptr<const NvmlLibrary> library_;
};

}  // namespace stoker
