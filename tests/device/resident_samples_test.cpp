#include "io/device/resident_samples.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "io/device/cuda_library.h"
#include "io/device/stream_device.h"
#include "tests/device/device_fixture.h"

namespace stoker {
namespace {

Batch numbered(int64_t rows, int first) {
  Batch batch;
  batch.size = rows;
  const size_t bytes = static_cast<size_t>(rows) * kSpec.bytes();
  batch.pixels = {new uint8_t[bytes], std::default_delete<uint8_t[]>()};
  for (int64_t row = 0; row < rows; ++row) {
    std::memset(batch.pixels.get() + static_cast<size_t>(row) * kSpec.bytes(),
                first + static_cast<int>(row), kSpec.bytes());
  }
  batch.labels = std::make_shared<std::vector<int64_t>>(static_cast<size_t>(rows), 1);
  return batch;
}

std::vector<std::string> devices() {
  std::vector<std::string> found{"{type: cpu}", "{type: emulated, step_ms: 0}"};
  if (!load_cuda()) found.emplace_back("{type: cuda}");
  return found;
}

TEST(ResidentSamples, a_gather_gives_what_was_put_on_every_device_there_is) {
  for (const std::string& yaml : devices()) {
    DeviceFixture fixture(yaml);
    const auto samples = make_resident_samples(*fixture.device, kSpec, 9, true);
    samples->put(numbered(3, 10), std::array<int64_t, 3>{8, 0, 4});
    samples->put(numbered(2, 20), std::array<int64_t, 2>{3, 0});  // 0 anew
    Batch batch = numbered(4, 99);
    samples->gather(std::array<int64_t, 4>{4, 0, 8, 3}, batch);
    for (const auto& [row, value] : std::map<size_t, int>{{0, 12}, {1, 21}, {2, 10}, {3, 20}}) {
      for (size_t i = 0; i < kSpec.bytes(); ++i) {
        ASSERT_EQ(batch.pixels.get()[row * kSpec.bytes() + i], value) << yaml << " " << row;
      }
    }
    EXPECT_EQ(batch.on_device == nullptr, samples->on_host()) << yaml;
  }
}

// Events of LibTorch's meta device, which complete when the test says so.
class FakeGuard final : public c10::impl::DeviceGuardImplInterface {
 public:
  mutable bool completed = false;
  c10::DeviceType type() const override { return c10::DeviceType::Meta; }
  c10::Device exchangeDevice(c10::Device d) const override { return d; }
  c10::Device getDevice() const override { return {type(), 0}; }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  c10::Stream getStream(c10::Device d) const override {
    return c10::Stream(c10::Stream::UNSAFE, c10::Device(d.type(), 0), 0);
  }
  c10::Stream getStreamFromGlobalPool(c10::Device d, bool) const override { return getStream(d); }
  c10::Stream exchangeStream(c10::Stream s) const override { return s; }
  void record(void** event, const c10::Stream&, c10::DeviceIndex, c10::EventFlag) const override {
    *event = &completed;
  }
  void block(void*, const c10::Stream&) const override { ADD_FAILURE() << "waits for a copy"; }
  bool queryEvent(void*) const override { return completed; }
  void synchronizeEvent(void*) const override { completed = true; }
  double elapsedTime(void*, void*, c10::DeviceIndex) const override { return 0; }
};

const FakeGuard guard;

void set_guard(const c10::impl::DeviceGuardImplInterface* implementation) {
  const c10::impl::DeviceGuardImplRegistrar set(c10::DeviceType::Meta, implementation);
}

HostMemory host_buffer(size_t bytes) {
  return {std::shared_ptr<uint8_t>(new uint8_t[bytes], std::default_delete<uint8_t[]>()), bytes,
          true};
}

class StreamedSamples : public ::testing::Test {
 protected:
  StreamedSamples() { guard.completed = false, set_guard(&guard); }
  ~StreamedSamples() override { set_guard(original_); }

 private:
  const c10::impl::DeviceGuardImplInterface* original_ =
      c10::impl::getDeviceGuardImpl(c10::DeviceType::Meta);

 protected:
  const std::unique_ptr<Device> device_ = [] {
    set_guard(&guard);
    return make_stream_device({"fake", at::Device(at::kMeta, 0), false, true, "events"}, 2,
                              host_buffer, nullptr, nullptr);
  }();
};

TEST_F(StreamedSamples, a_slot_is_kept_until_the_device_has_read_it) {
  const auto samples = make_resident_samples(*device_, kSpec, 9, false);
  Batch filled = numbered(3, 10);
  const std::weak_ptr<uint8_t> slot = filled.pixels;
  samples->put(filled, std::array<int64_t, 3>{8, 0, 4});
  filled.pixels.reset();
  EXPECT_FALSE(slot.expired());
  guard.completed = true;
  Batch next = numbered(1, 1);
  next.pixels.reset();
  samples->gather(std::array<int64_t, 1>{0}, next);
  EXPECT_TRUE(slot.expired());
}

TEST_F(StreamedSamples, a_batch_is_ready_in_the_order_of_its_stream) {
  const auto samples = make_resident_samples(*device_, kSpec, 9, false);
  Batch batch = numbered(2, 1);
  batch.pixels.reset();
  samples->gather(std::array<int64_t, 2>{4, 0}, batch);
  ASSERT_NE(batch.on_device, nullptr);
  EXPECT_EQ(batch.on_device->ready, nullptr);
  EXPECT_EQ(batch.on_device->images.sizes(),
            (std::vector<int64_t>{2, kSpec.height, kSpec.width, kSpec.channels}));
  EXPECT_EQ(batch.on_device->images.scalar_type(), at::kByte);
  EXPECT_EQ(batch.on_device->labels.sizes(), (std::vector<int64_t>{2}));
  guard.completed = true;
  bool ran = false;
  device_->run(batch.on_device.get(), [&] { ran = true; });
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace stoker
