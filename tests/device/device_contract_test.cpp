#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <thread>

#include "io/core/bounded_queue.h"
#include "io/device/cuda_library.h"
#include "io/device/device.h"
#include "tests/device/device_fixture.h"
#include "tests/support/errors.h"

// What every registered device must do. A new device needs a line in kSmall.

namespace stoker {
namespace {

const std::map<std::string, std::string> kSmall{
    {"auto", "{type: auto}"},
    {"cpu", "{type: cpu}"},
    {"cuda", "{type: cuda}"},
    {"emulated", "{type: emulated, step_ms: 0.2}"},
};

std::vector<std::string> usable() {
  std::vector<std::string> names = Registry<Device>::global().names();
  if (load_cuda()) std::erase(names, "cuda");
  return names;
}

class DeviceContract : public ::testing::TestWithParam<std::string> {
 protected:
  DeviceFixture fixture_{kSmall.at(GetParam())};
  Device& device_ = *fixture_.device;
};

TEST(Devices, each_registered_one_is_tested_here) {
  std::vector<std::string> tested;
  for (const auto& [name, yaml] : kSmall) tested.push_back(name);
  EXPECT_EQ(Registry<Device>::global().names(), tested);
}

TEST(Devices, cuda_is_tested_here_where_it_works) {
  if (const auto problem = load_cuda()) GTEST_SKIP() << "the contract, of cuda: " << *problem;
}

TEST(Devices, cuda_without_a_driver_says_what_to_do) {
  const std::optional<std::string> problem = load_cuda();
  if (problem) {
    EXPECT_EQ(error_of([] { DeviceFixture fixture("{type: cuda}"); }),
              "device: cuda: " + *problem + "; use device.type=cpu or emulated");
  } else {
    EXPECT_EQ(DeviceFixture("{type: cuda}").device->info().timing_method, "events");
  }
}

TEST(Devices, auto_takes_cuda_where_it_works_else_the_cpu_and_says_which) {
  const std::optional<std::string> problem = load_cuda();
  DeviceFixture fixture("{type: auto}");
  const DeviceInfo& info = fixture.device->info();
  EXPECT_EQ(info.timing_method, problem ? "host" : "events");
  ASSERT_EQ(fixture.notes.size(), 1u);
  EXPECT_EQ(fixture.notes[0], "device: auto: " + info.name + (problem ? "; " + *problem : ""));
}

TEST_P(DeviceContract, says_what_it_is) {
  const DeviceInfo& info = device_.info();
  EXPECT_FALSE(info.name.empty());
  EXPECT_EQ(info.emulated, info.timing_method == "emulated");
  EXPECT_EQ(info.own_memory, !info.torch_device.is_cpu());
}

TEST_P(DeviceContract, says_before_it_is_opened_what_its_options_know) {
  const Node node = parse_yaml(kSmall.at(GetParam()), "t.yaml");
  const DeviceInfo before = parse_component<Device>(node).info();
  EXPECT_EQ(before.emulated, device_.info().emulated);
  EXPECT_LE(device_.info().graphs, before.graphs);
}

TEST_P(DeviceContract, gives_aligned_host_memory_of_any_size) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{1000}, size_t{5} << 20}) {
    const HostMemory memory = device_.allocate(bytes);
    ASSERT_NE(memory.data, nullptr);
    EXPECT_EQ(memory.bytes, bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data.get()) % 64, 0u);
    std::fill_n(memory.data.get(), bytes, uint8_t{7});
  }
}

TEST_P(DeviceContract, a_copied_batch_has_the_shape_and_where_it_is_computed_with_the_values) {
  const DeviceBatch batch = fixture_.copy(4);
  EXPECT_EQ(batch.images.sizes(), (std::vector<int64_t>{4, 2, 3, 3}));
  EXPECT_EQ(batch.images.scalar_type(), at::kByte);
  EXPECT_EQ(batch.labels.sizes(), (std::vector<int64_t>{4}));
  EXPECT_EQ(batch.labels.scalar_type(), at::kLong);
  EXPECT_EQ(batch.images.device().type(), device_.info().torch_device.type());
  EXPECT_EQ(batch.host.size, 4);
  if (device_.info().emulated) return;
  const at::Tensor images = batch.images.cpu(), labels = batch.labels.cpu();
  for (int64_t i = 0; i < 72; ++i) EXPECT_EQ(images.const_data_ptr<uint8_t>()[i], 1 + i);
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(labels.const_data_ptr<int64_t>()[i], 10 + i);
}

TEST_P(DeviceContract, a_batch_of_normalised_samples_is_planes_of_floats) {
  SampleSpec spec = kSpec;
  spec.type = PixelType::float32;
  Batch host = fixture_.batch();
  host.pixels = device_.allocate(4 * spec.bytes()).data;
  auto* values = reinterpret_cast<float*>(host.pixels.get());
  for (int i = 0; i < 72; ++i) values[i] = static_cast<float>(i) / 8;
  const DeviceBatch batch = device_.copy(host, spec);
  EXPECT_EQ(batch.images.sizes(), (std::vector<int64_t>{4, 3, 2, 3}));
  EXPECT_EQ(batch.images.scalar_type(), at::kFloat);
  if (device_.info().emulated) return;
  const at::Tensor images = batch.images.cpu();
  for (int64_t i = 0; i < 72; ++i) {
    EXPECT_EQ(images.const_data_ptr<float>()[i], static_cast<float>(i) / 8);
  }
}

TEST_P(DeviceContract, calls_the_work_of_each_step_once_and_in_order_unless_it_is_emulated) {
  const DeviceBatch batch = fixture_.copy();
  std::vector<int> order;
  for (int step = 0; step < 5; ++step) {
    device_.run(&batch, [&order, step] { order.push_back(step); });
  }
  device_.collect(true);
  EXPECT_EQ(order,
            device_.info().emulated ? std::vector<int>{} : (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST_P(DeviceContract, intervals_are_in_order_complete_and_do_not_overlap) {
  const TimePoint begin = Clock::now();
  std::vector<BusyInterval> steps;
  const auto take = [&](bool wait) {
    for (const BusyInterval& step : device_.collect(wait)) steps.push_back(step);
  };
  for (int step = 0; step < 20; ++step) {
    const DeviceBatch batch = fixture_.copy();
    device_.run(step % 3 == 0 ? nullptr : &batch, no_work);
    if (step % 4 == 0) take(false);
  }
  take(true);
  ASSERT_EQ(steps.size(), 20u);
  TimePoint last = begin;
  for (const BusyInterval& step : steps) {
    EXPECT_LE(begin, step.submitted);
    EXPECT_LE(step.submitted, step.start);
    EXPECT_LE(last, step.start);
    EXPECT_LE(step.start, step.end);
    EXPECT_GE(step.copy.count(), 0);
    last = step.end;
  }
  EXPECT_TRUE(device_.collect(true).empty());
}

TEST_P(DeviceContract, has_nothing_to_report_before_the_first_step) {
  EXPECT_TRUE(device_.collect(false).empty());
  EXPECT_TRUE(device_.collect(true).empty());
}

TEST_P(DeviceContract, keeps_the_host_slot_as_long_as_it_reads_it_and_no_longer) {
  Batch batch = fixture_.batch();
  const std::weak_ptr<uint8_t> slot = batch.pixels;
  std::optional<DeviceBatch> on_device = device_.copy(batch, kSpec);
  batch = {};
  EXPECT_FALSE(slot.expired());
  device_.run(&*on_device, no_work);
  device_.collect(true);
  EXPECT_EQ(slot.expired(), device_.info().own_memory);
  on_device.reset();
  EXPECT_TRUE(slot.expired());
}

TEST_P(DeviceContract, may_be_destroyed_in_the_middle) {
  for (int step = 0; step < 3; ++step) {
    const DeviceBatch batch = fixture_.copy();
    device_.run(&batch, no_work);
  }
  const DeviceBatch kept = fixture_.copy();
  const int64_t size = kept.host.size;
  fixture_.device.reset();
  EXPECT_EQ(kept.images.size(0), size);
}

TEST_P(DeviceContract, copies_in_one_thread_while_another_runs) {
  constexpr int kSteps = 100;
  BoundedQueue<DeviceBatch> queue(2);
  std::jthread copier([&] {
    for (int step = 0; step < kSteps; ++step) queue.push(fixture_.copy());
  });
  size_t finished = 0;
  for (int step = 0; step < kSteps; ++step) {
    const std::optional<DeviceBatch> batch = queue.pop();
    device_.run(&*batch, no_work);
    finished += device_.collect(false).size();
  }
  finished += device_.collect(true).size();
  EXPECT_EQ(finished, static_cast<size_t>(kSteps));
}

INSTANTIATE_TEST_SUITE_P(All, DeviceContract, ::testing::ValuesIn(usable()),
                         [](const auto& param) { return param.param; });

TEST(Cpu, a_step_that_fails_is_no_busy_time_and_the_next_one_is) {
  DeviceFixture fixture("{type: cpu}");
  EXPECT_EQ(error_of([&] { fixture.device->run(nullptr, [] { throw std::runtime_error("no"); }); }),
            "no");
  fixture.device->run(nullptr, no_work);
  EXPECT_EQ(fixture.device->collect(true).size(), 1u);
}

TEST(Cpu, uses_batches_where_they_lie) {
  DeviceFixture fixture("{type: cpu}");
  const Batch batch = fixture.batch();
  const DeviceBatch on_device = fixture.device->copy(batch, kSpec);
  EXPECT_EQ(on_device.images.const_data_ptr<uint8_t>(), batch.pixels.get());
  EXPECT_EQ(on_device.labels.const_data_ptr<int64_t>(), batch.labels->data());
}

TEST(Cpu, the_tensors_keep_the_slot) {
  DeviceFixture fixture("{type: cpu}");
  Batch batch = fixture.batch();
  const std::weak_ptr<uint8_t> slot = batch.pixels;
  at::Tensor images = fixture.device->copy(batch, kSpec).images;
  batch = {};
  EXPECT_FALSE(slot.expired());
  images.reset();
  EXPECT_TRUE(slot.expired());
}

}  // namespace
}  // namespace stoker
