// This file is built three times: as the test, and (FAKE_NVML) as two libraries that stand in for
// libnvidia-ml.so.1, a current one and (FAKE_NVML=1) one from before GPM.
#include "io/metrics/machine/nvml.h"

#include <cstring>
#include <limits>

namespace stoker {

// What the fake says and saw; the test finds it by dlsym.
struct FakeNvml {
  nvml_abi::Return init = nvml_abi::kSuccess;
  nvml_abi::Return readings = nvml_abi::kSuccess;  // utilisation, memory, energy
  nvml_abi::Return sample = nvml_abi::kSuccess;
  nvml_abi::Return metrics = nvml_abi::kSuccess;
  nvml_abi::Return occupancy = nvml_abi::kSuccess;
  unsigned gpm_supported = 1;
  double sm_util = 40;
  int open = 0;          // initialised and not yet shut down
  int samples = 0;       // allocated and not yet freed
  int samples_read = 0;  // the number of the newest one, too
  int earlier = 0;       // numbers of the samples last compared
  int later = 0;
};

}  // namespace stoker

#ifdef FAKE_NVML

namespace stoker::nvml_abi {
struct Device {};
struct Sample {
  int number = 0;
};
}  // namespace stoker::nvml_abi

namespace {
using namespace stoker;
using namespace stoker::nvml_abi;
constexpr Return kNotFound = 6;
FakeNvml fake;
Device device;
}  // namespace

extern "C" {
FakeNvml* fake_nvml() { return &fake; }

Return nvmlInit_v2() {
  if (fake.init == kSuccess) ++fake.open;
  return fake.init;
}
Return nvmlShutdown() {
  --fake.open;
  return kSuccess;
}
Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Device** out) {
  if (index != 0) return kNotFound;
  *out = &device;
  return kSuccess;
}
Return nvmlDeviceGetUtilizationRates(Device*, Utilization* out) {
  *out = {87, 12};
  return fake.readings;
}
Return nvmlDeviceGetMemoryInfo(Device*, Memory* out) {
  *out = {1000, 600, 400};
  return fake.readings;
}
Return nvmlDeviceGetTotalEnergyConsumption(Device*, unsigned long long* out) {
  *out = 1234567;
  return fake.readings;
}

#if FAKE_NVML > 1
Return nvmlGpmQueryDeviceSupport(Device*, GpmSupport* support) {
  support->supported = fake.gpm_supported;
  return support->version == 1 ? kSuccess : kNotFound;
}
Return nvmlGpmSampleAlloc(Sample** out) {
  ++fake.samples;
  *out = std::make_unique<Sample>().release();
  return kSuccess;
}
Return nvmlGpmSampleFree(Sample* sample) {
  --fake.samples;
  std::unique_ptr<Sample>{sample}.reset();
  return kSuccess;
}
Return nvmlGpmSampleGet(Device*, Sample* sample) {
  if (fake.sample == kSuccess) sample->number = ++fake.samples_read;
  return fake.sample;
}
Return nvmlGpmMetricsGet(GpmMetricsGet* request) {
  if (request->version != 1) return kNotFound;
  fake.earlier = request->earlier->number;
  fake.later = request->later->number;
  for (unsigned i = 0; i < request->count; ++i) {
    GpmMetric& metric = request->metrics[i];
    metric.status = metric.id == 3 ? fake.occupancy : kSuccess;
    metric.value = metric.id == 2 ? fake.sm_util : metric.id * 10.0;
  }
  return fake.metrics;
}
#endif
}  // extern "C"

#else  // the test

#include <dlfcn.h>
#include <gmock/gmock.h>

#include "tests/support/temporary_directory.h"

#if __has_include(<nvml.h>)
#include <nvml.h>
#define STOKER_HAS_NVML_H
#endif

namespace stoker {
namespace {

using std::chrono::milliseconds;
using ::testing::DoubleEq;
using ::testing::Optional;

constexpr nvml_abi::Return kNotSupported = 3;
const TimePoint t0{std::chrono::hours(1)};

struct NvmlTest : testing::Test {
  NvmlTest() : handle_(dlopen(FAKE_NVML_LIBRARY, RTLD_NOW | RTLD_LOCAL), dlclose) {
    fake = state_of(handle_.get());
    *fake = {};
  }
  static FakeNvml* state_of(void* handle) {
    auto* const get = reinterpret_cast<FakeNvml* (*)()>(dlsym(handle, "fake_nvml"));
    return get();
  }

  FakeNvml* fake;

 private:
  std::unique_ptr<void, int (*)(void*)> handle_;
};

TEST_F(NvmlTest, an_absent_library_is_no_error) {
  const Nvml nvml("libnvidia-ml-that-nobody-has.so.1");
  EXPECT_FALSE(nvml.available());
  EXPECT_FALSE(nvml.device_by_index(0));
}

TEST_F(NvmlTest, a_library_that_is_something_else_is_not_available) {
  EXPECT_FALSE(Nvml("libm.so.6").available());
  const TemporaryDirectory directory;
  directory.write("libnvidia-ml.so.1", "no library at all");
  EXPECT_FALSE(Nvml(directory / "libnvidia-ml.so.1").available());
}

TEST_F(NvmlTest, a_library_without_a_driver_is_not_available_and_not_shut_down) {
  fake->init = 9;  // NVML_ERROR_DRIVER_NOT_LOADED
  EXPECT_FALSE(Nvml(FAKE_NVML_LIBRARY).available());
  EXPECT_EQ(fake->open, 0);
}

TEST_F(NvmlTest, is_shut_down_with_the_last_object_that_uses_it) {
  std::optional<NvmlDevice> device;
  {
    const Nvml nvml(FAKE_NVML_LIBRARY);
    EXPECT_TRUE(nvml.available());
    EXPECT_EQ(fake->open, 1);
    device = nvml.device_by_index(0);
  }
  ASSERT_TRUE(device);
  EXPECT_EQ(fake->open, 1);
  EXPECT_EQ(fake->samples, 2);
  EXPECT_TRUE(device->read(t0).energy_joules);
  device = Nvml(FAKE_NVML_LIBRARY).device_by_index(0);  // in place of the old one
  EXPECT_EQ(fake->open, 1);
  EXPECT_EQ(fake->samples, 2);
  device.reset();
  EXPECT_EQ(fake->open, 0);
  EXPECT_EQ(fake->samples, 0);
}

TEST(Nvml, the_library_is_unloaded) {
  {
    const auto device = Nvml(FAKE_NVML_LIBRARY).device_by_index(0);
    ASSERT_TRUE(device);
    void* const loaded = dlopen(FAKE_NVML_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
    EXPECT_NE(loaded, nullptr);
    if (loaded != nullptr) dlclose(loaded);
  }
  EXPECT_EQ(dlopen(FAKE_NVML_LIBRARY, RTLD_NOW | RTLD_NOLOAD), nullptr);
}

TEST_F(NvmlTest, a_gpu_is_found_by_index_or_bus_id) {
  const Nvml nvml(FAKE_NVML_LIBRARY);
  EXPECT_TRUE(nvml.device_by_index(0));
  EXPECT_FALSE(nvml.device_by_index(1));
}

TEST_F(NvmlTest, readings_are_ratios_bytes_and_joules) {
  auto device = Nvml(FAKE_NVML_LIBRARY).device_by_index(0);
  ASSERT_TRUE(device);
  const GpuReadings readings = device->read(t0);
  EXPECT_THAT(readings.kernel_resident, Optional(DoubleEq(0.87)));
  EXPECT_EQ(readings.memory_total_bytes, 1000u);
  EXPECT_EQ(readings.memory_used_bytes, 400u);
  EXPECT_THAT(readings.energy_joules, Optional(DoubleEq(1234.567)));
}

TEST_F(NvmlTest, what_the_gpu_does_not_say_is_absent) {
  fake->readings = kNotSupported;
  fake->gpm_supported = 0;
  auto device = Nvml(FAKE_NVML_LIBRARY).device_by_index(0);
  ASSERT_TRUE(device);
  EXPECT_EQ(fake->samples, 0);
  for (const TimePoint now : {t0, t0 + milliseconds(1000)}) {
    const GpuReadings readings = device->read(now);
    EXPECT_FALSE(readings.kernel_resident || readings.memory_total_bytes ||
                 readings.memory_used_bytes || readings.energy_joules || readings.gpm.sm_active);
  }
  EXPECT_EQ(fake->samples_read, 0);
}

TEST_F(NvmlTest, gpm_compares_each_sample_with_the_one_before) {
  auto device = Nvml(FAKE_NVML_LIBRARY).device_by_index(0);
  ASSERT_TRUE(device);
  EXPECT_FALSE(device->read(t0).gpm.sm_active);
  for (int i = 1; i <= 3; ++i) {
    const GpmReadings gpm = device->read(t0 + i * milliseconds(100)).gpm;
    EXPECT_EQ(fake->earlier, i);
    EXPECT_EQ(fake->later, i + 1);
    EXPECT_THAT(gpm.graphics_active, Optional(DoubleEq(0.1)));
    EXPECT_THAT(gpm.sm_active, Optional(DoubleEq(0.4)));
    EXPECT_THAT(gpm.sm_occupancy, Optional(DoubleEq(0.3)));
    EXPECT_THAT(gpm.dram_active, Optional(DoubleEq(1)));
  }
}

TEST_F(NvmlTest, gpm_is_not_sampled_again_within_100_ms_and_keeps_its_values) {
  auto device = Nvml(FAKE_NVML_LIBRARY).device_by_index(0);
  ASSERT_TRUE(device);
  device->read(t0);
  EXPECT_FALSE(device->read(t0 + milliseconds(99)).gpm.sm_active);
  EXPECT_TRUE(device->read(t0 + milliseconds(150)).gpm.sm_active);
  fake->sm_util = 80;
  EXPECT_THAT(device->read(t0 + milliseconds(249)).gpm.sm_active, Optional(DoubleEq(0.4)));
  EXPECT_THAT(device->read(t0 + milliseconds(250)).gpm.sm_active, Optional(DoubleEq(0.8)));
  EXPECT_EQ(fake->samples_read, 3);
}

TEST_F(NvmlTest, a_gpm_figure_without_a_value_is_absent_alone) {
  fake->occupancy = kNotSupported;
  fake->sm_util = std::numeric_limits<double>::quiet_NaN();
  auto device = Nvml(FAKE_NVML_LIBRARY).device_by_index(0);
  ASSERT_TRUE(device);
  device->read(t0);
  const GpmReadings gpm = device->read(t0 + milliseconds(100)).gpm;
  EXPECT_FALSE(gpm.sm_active);
  EXPECT_FALSE(gpm.sm_occupancy);
  EXPECT_TRUE(gpm.graphics_active);
  EXPECT_TRUE(gpm.dram_active);
}

TEST_F(NvmlTest, after_a_failure_gpm_is_absent_until_the_next_sample) {
  auto device = Nvml(FAKE_NVML_LIBRARY).device_by_index(0);
  ASSERT_TRUE(device);
  device->read(t0);
  EXPECT_TRUE(device->read(t0 + milliseconds(100)).gpm.sm_active);
  fake->sample = kNotSupported;
  EXPECT_FALSE(device->read(t0 + milliseconds(200)).gpm.sm_active);
  fake->sample = nvml_abi::kSuccess;
  EXPECT_TRUE(device->read(t0 + milliseconds(300)).gpm.sm_active);
  EXPECT_EQ(fake->earlier, 2);
  fake->metrics = kNotSupported;
  EXPECT_FALSE(device->read(t0 + milliseconds(400)).gpm.sm_active);
}

TEST(Nvml, a_library_from_before_gpm_gives_the_rest) {
  auto device = Nvml(FAKE_OLD_NVML_LIBRARY).device_by_index(0);
  ASSERT_TRUE(device);
  device->read(t0);
  const GpuReadings readings = device->read(t0 + milliseconds(1000));
  EXPECT_TRUE(readings.kernel_resident && readings.memory_used_bytes && readings.energy_joules);
  EXPECT_FALSE(readings.gpm.graphics_active || readings.gpm.dram_active);
}

TEST(Nvml, the_library_of_this_machine_is_found_or_absent) {
  const Nvml nvml;
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    EXPECT_FALSE(nvml.available());
    return;
  }
  dlclose(library);
  auto device = nvml.device_by_index(0);
  EXPECT_TRUE(nvml.available() || !device);
  if (!device) return;  // the library is here, a GPU is not
  const GpuReadings readings = device->read();
  EXPECT_GT(readings.memory_total_bytes.value_or(1), readings.memory_used_bytes.value_or(0));
  EXPECT_LE(readings.kernel_resident.value_or(0), 1);
}

#ifdef STOKER_HAS_NVML_H

// Whether both functions are called in the same way: as many parameters, of the same sizes, and
// pointers in the same places.
template <class R, class... A, class S, class... B>
consteval bool same_call(R (*)(A...), S (*)(B...)) {
  if constexpr (sizeof...(A) == sizeof...(B)) {
    return sizeof(R) == sizeof(S) &&
           ((sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>)&&...);
  }
  return false;
}
template <class Ours, class Theirs>
consteval bool same_call_as(Theirs* theirs) {
  return same_call(static_cast<Ours*>(nullptr), theirs);
}

#define STOKER_SAME_FIELD(ours, field, theirs, their_field)               \
  static_assert(offsetof(ours, field) == offsetof(theirs, their_field) && \
                sizeof(ours::field) == sizeof(theirs::their_field))

TEST(Nvml, declarations_are_those_of_the_toolkit) {
  namespace abi = nvml_abi;
  static_assert(sizeof(abi::Return) == sizeof(nvmlReturn_t) && abi::kSuccess == NVML_SUCCESS);
  static_assert(sizeof(abi::Utilization) == sizeof(nvmlUtilization_t));
  STOKER_SAME_FIELD(abi::Utilization, gpu, nvmlUtilization_t, gpu);
  static_assert(sizeof(abi::Memory) == sizeof(nvmlMemory_t));
  STOKER_SAME_FIELD(abi::Memory, total, nvmlMemory_t, total);
  STOKER_SAME_FIELD(abi::Memory, used, nvmlMemory_t, used);
  static_assert(sizeof(abi::GpmMetric) == sizeof(nvmlGpmMetric_t));
  STOKER_SAME_FIELD(abi::GpmMetric, id, nvmlGpmMetric_t, metricId);
  STOKER_SAME_FIELD(abi::GpmMetric, status, nvmlGpmMetric_t, nvmlReturn);
  STOKER_SAME_FIELD(abi::GpmMetric, value, nvmlGpmMetric_t, value);
  STOKER_SAME_FIELD(abi::GpmMetricsGet, version, nvmlGpmMetricsGet_t, version);
  STOKER_SAME_FIELD(abi::GpmMetricsGet, count, nvmlGpmMetricsGet_t, numMetrics);
  STOKER_SAME_FIELD(abi::GpmMetricsGet, earlier, nvmlGpmMetricsGet_t, sample1);
  STOKER_SAME_FIELD(abi::GpmMetricsGet, later, nvmlGpmMetricsGet_t, sample2);
  static_assert(offsetof(abi::GpmMetricsGet, metrics) == offsetof(nvmlGpmMetricsGet_t, metrics));
  static_assert(sizeof(abi::GpmSupport) == sizeof(nvmlGpmSupport_t));
  STOKER_SAME_FIELD(abi::GpmSupport, supported, nvmlGpmSupport_t, isSupportedDevice);
  static_assert(abi::kGpmVersion == NVML_GPM_METRICS_GET_VERSION &&
                abi::kGpmVersion == NVML_GPM_SUPPORT_VERSION);
  static_assert(abi::kGpmGraphicsUtil == NVML_GPM_METRIC_GRAPHICS_UTIL &&
                abi::kGpmSmUtil == NVML_GPM_METRIC_SM_UTIL &&
                abi::kGpmSmOccupancy == NVML_GPM_METRIC_SM_OCCUPANCY &&
                abi::kGpmDramBandwidthUtil == NVML_GPM_METRIC_DRAM_BW_UTIL);
  static_assert(same_call_as<abi::Init>(nvmlInit_v2));
  static_assert(same_call_as<abi::Shutdown>(nvmlShutdown));
  static_assert(same_call_as<abi::GetHandleByIndex>(nvmlDeviceGetHandleByIndex_v2));
  static_assert(same_call_as<abi::GetUtilization>(nvmlDeviceGetUtilizationRates));
  static_assert(same_call_as<abi::GetMemory>(nvmlDeviceGetMemoryInfo));
  static_assert(same_call_as<abi::GetEnergy>(nvmlDeviceGetTotalEnergyConsumption));
  static_assert(same_call_as<abi::GpmQuerySupport>(nvmlGpmQueryDeviceSupport));
  static_assert(same_call_as<abi::GpmSampleAlloc>(nvmlGpmSampleAlloc));
  static_assert(same_call_as<abi::GpmSampleFree>(nvmlGpmSampleFree));
  static_assert(same_call_as<abi::GpmSampleGet>(nvmlGpmSampleGet));
  static_assert(same_call_as<abi::GpmGetMetrics>(nvmlGpmMetricsGet));
  EXPECT_GE(abi::kGpmCapacity, size_t{NVML_GPM_METRIC_MAX});
}

#endif

// The same as numbers, where no nvml.h is at hand: those of NVML's API 13 on 64-bit Linux.
TEST(Nvml, declarations_have_the_layout_of_the_library) {
  namespace abi = nvml_abi;
  EXPECT_EQ(sizeof(abi::Utilization), 8u);
  EXPECT_EQ(offsetof(abi::Utilization, gpu), 0u);
  EXPECT_EQ(sizeof(abi::Memory), 24u);
  EXPECT_EQ(offsetof(abi::Memory, used), 16u);
  EXPECT_EQ(sizeof(abi::GpmMetric), 40u);
  EXPECT_EQ(offsetof(abi::GpmMetric, status), 4u);
  EXPECT_EQ(offsetof(abi::GpmMetric, value), 8u);
  EXPECT_EQ(offsetof(abi::GpmMetricsGet, count), 4u);
  EXPECT_EQ(offsetof(abi::GpmMetricsGet, earlier), 8u);
  EXPECT_EQ(offsetof(abi::GpmMetricsGet, later), 16u);
  EXPECT_EQ(offsetof(abi::GpmMetricsGet, metrics), 24u);
  EXPECT_EQ(sizeof(abi::GpmSupport), 8u);
  EXPECT_GE(abi::kGpmCapacity, 333u);
}

}  // namespace
}  // namespace stoker

#endif  // the test
