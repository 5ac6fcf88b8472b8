#include "io/metrics/machine/nvml.h"

#include <dlfcn.h>

#include <array>
#include <cmath>
#include <utility>

namespace stoker {

using nvml_abi::kSuccess;

// Null: the library has no such function (GPM came in 2022).
struct NvmlLibrary {
  explicit NvmlLibrary(const std::string& path)
      : handle(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL), dlclose) {
    initialized = init != nullptr && shutdown != nullptr && init() == kSuccess;
  }
  ~NvmlLibrary() {
    if (initialized) shutdown();
  }
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

  template <class F>
  F* find(const char* name) const {
    return handle == nullptr ? nullptr : reinterpret_cast<F*>(dlsym(handle.get(), name));
  }

  bool supports_gpm(nvml_abi::Device* device) const {
    nvml_abi::GpmSupport support{nvml_abi::kGpmVersion, 0};
    return gpm_query_support && gpm_sample_alloc && gpm_sample_free && gpm_sample_get &&
           gpm_get_metrics && gpm_query_support(device, &support) == kSuccess &&
           support.supported != 0;
  }

  std::unique_ptr<void, int (*)(void*)> handle;
  nvml_abi::Init* init = find<nvml_abi::Init>("nvmlInit_v2");
  nvml_abi::Shutdown* shutdown = find<nvml_abi::Shutdown>("nvmlShutdown");
  nvml_abi::GetHandleByIndex* get_handle_by_index =
      find<nvml_abi::GetHandleByIndex>("nvmlDeviceGetHandleByIndex_v2");
  nvml_abi::GetUtilization* get_utilization =
      find<nvml_abi::GetUtilization>("nvmlDeviceGetUtilizationRates");
  nvml_abi::GetMemory* get_memory = find<nvml_abi::GetMemory>("nvmlDeviceGetMemoryInfo");
  nvml_abi::GetEnergy* get_energy =
      find<nvml_abi::GetEnergy>("nvmlDeviceGetTotalEnergyConsumption");
  nvml_abi::GpmQuerySupport* gpm_query_support =
      find<nvml_abi::GpmQuerySupport>("nvmlGpmQueryDeviceSupport");
  nvml_abi::GpmSampleAlloc* gpm_sample_alloc = find<nvml_abi::GpmSampleAlloc>("nvmlGpmSampleAlloc");
  nvml_abi::GpmSampleFree* gpm_sample_free = find<nvml_abi::GpmSampleFree>("nvmlGpmSampleFree");
  nvml_abi::GpmSampleGet* gpm_sample_get = find<nvml_abi::GpmSampleGet>("nvmlGpmSampleGet");
  nvml_abi::GpmGetMetrics* gpm_get_metrics = find<nvml_abi::GpmGetMetrics>("nvmlGpmMetricsGet");
  bool initialized = false;
};

namespace {

// The counters behind GPM are refreshed no more often.
constexpr auto kGpmInterval = std::chrono::milliseconds(100);

GpmReadings gpm_between(const NvmlLibrary& library, nvml_abi::Sample* earlier,
                        nvml_abi::Sample* later) {
  constexpr std::array kIds{nvml_abi::kGpmGraphicsUtil, nvml_abi::kGpmSmUtil,
                            nvml_abi::kGpmSmOccupancy, nvml_abi::kGpmDramBandwidthUtil};
  const auto request = std::make_unique<nvml_abi::GpmMetricsGet>();
  request->version = nvml_abi::kGpmVersion;
  request->count = kIds.size();
  request->earlier = earlier;
  request->later = later;
  for (size_t i = 0; i < kIds.size(); ++i) request->metrics[i].id = kIds[i];
  if (library.gpm_get_metrics(request.get()) != kSuccess) return {};
  const auto ratio = [&](size_t i) -> std::optional<double> {
    const nvml_abi::GpmMetric& metric = request->metrics[i];
    if (metric.status != kSuccess || !std::isfinite(metric.value)) return std::nullopt;
    return metric.value / 100;
  };
  return {ratio(0), ratio(1), ratio(2), ratio(3)};
}

}  // namespace

NvmlDevice::NvmlDevice(std::shared_ptr<const NvmlLibrary> library, nvml_abi::Device* device)
    : library_(std::move(library)), device_(device), last_(new_sample()), next_(new_sample()) {}

NvmlDevice::Sample NvmlDevice::new_sample() const {
  nvml_abi::Sample* sample = nullptr;
  if (!library_->supports_gpm(device_) || library_->gpm_sample_alloc(&sample) != kSuccess) {
    sample = nullptr;
  }
  return {sample, FreeSample{library_}};
}

void NvmlDevice::FreeSample::operator()(nvml_abi::Sample* sample) const {
  library->gpm_sample_free(sample);
}

void NvmlDevice::read_gpm(TimePoint now) {
  if (!last_ || !next_ || (last_time_ && now - *last_time_ < kGpmInterval)) return;
  gpm_ = {};
  if (library_->gpm_sample_get(device_, next_.get()) != kSuccess) return;
  if (last_time_) gpm_ = gpm_between(*library_, last_.get(), next_.get());
  std::swap(last_, next_);
  last_time_ = now;
}

GpuReadings NvmlDevice::read(TimePoint now) {
  GpuReadings readings;
  nvml_abi::Utilization utilization{};
  if (library_->get_utilization && library_->get_utilization(device_, &utilization) == kSuccess) {
    readings.kernel_resident = utilization.gpu / 100.0;
  }
  nvml_abi::Memory memory{};
  if (library_->get_memory && library_->get_memory(device_, &memory) == kSuccess) {
    readings.memory_total_bytes = memory.total;
    readings.memory_used_bytes = memory.used;
  }
  unsigned long long millijoules = 0;
  if (library_->get_energy && library_->get_energy(device_, &millijoules) == kSuccess) {
    readings.energy_joules = static_cast<double>(millijoules) * 1e-3;
  }
  read_gpm(now);
  readings.gpm = gpm_;
  return readings;
}

Nvml::Nvml(const std::string& library) {
  auto loaded = std::make_shared<const NvmlLibrary>(library);
  if (loaded->initialized) library_ = std::move(loaded);
}

std::optional<NvmlDevice> Nvml::device_by_index(unsigned index) const {
  nvml_abi::Device* device = nullptr;
  if (!library_ || !library_->get_handle_by_index ||
      library_->get_handle_by_index(index, &device) != kSuccess) {
    return std::nullopt;
  }
  return NvmlDevice(library_, device);
}

}  // namespace stoker
