#include <ATen/ops/arange.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "io/device/device.h"

// The order of streams and events of a device's copies, run without a GPU: LibTorch is given a
// guard for the CPU that writes down what is asked of its two streams. The bytes are copied for
// real.

namespace stoker {
namespace {

constexpr c10::StreamId kWork = 0;
constexpr c10::StreamId kCopies = 1;

class Diary final : public c10::impl::DeviceGuardImplInterface {
 public:
  std::string take() const { return std::exchange(text_, ""); }

  c10::DeviceType type() const override { return c10::DeviceType::CPU; }
  c10::Device exchangeDevice(c10::Device d) const override { return d; }
  c10::Device getDevice() const override { return {type(), -1}; }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  c10::Stream getStream(c10::Device d) const override { return stream(d, current_); }
  c10::Stream getStreamFromGlobalPool(c10::Device d, bool) const override {
    return stream(d, kCopies);
  }
  c10::Stream exchangeStream(c10::Stream s) const override {
    write("on " + name(s.id()));
    return stream(s.device(), std::exchange(current_, s.id()));
  }
  void record(void** event, const c10::Stream& s, c10::DeviceIndex, c10::EventFlag) const override {
    *event = &events_;
    write("record on " + name(s.id()));
  }
  void block(void*, const c10::Stream& s) const override { write(name(s.id()) + " waits"); }
  bool queryEvent(void*) const override { return true; }
  void synchronizeEvent(void*) const override { write("host waits"); }

 private:
  static std::string name(c10::StreamId id) { return id == kWork ? "work" : "copies"; }
  static c10::Stream stream(c10::Device d, c10::StreamId id) {
    return c10::Stream(c10::Stream::UNSAFE, d, id);
  }
  void write(const std::string& line) const { text_ += (text_.empty() ? "" : ", ") + line; }

  mutable c10::StreamId current_ = kWork;
  mutable std::string text_;
  mutable int events_ = 0;
};

const Diary diary;

class DeviceCopiesOrder : public ::testing::Test {
 protected:
  static void set_guard(const c10::impl::DeviceGuardImplInterface* guard) {
    const c10::impl::DeviceGuardImplRegistrar set(c10::DeviceType::CPU, guard);
  }
  DeviceCopiesOrder() : original_(c10::impl::getDeviceGuardImpl(c10::DeviceType::CPU)) {
    set_guard(&diary);
    diary.take();
  }
  ~DeviceCopiesOrder() override { set_guard(original_); }

 private:
  const c10::impl::DeviceGuardImplInterface* original_;
};

TEST_F(DeviceCopiesOrder, copies_come_behind_the_work_so_far_and_before_the_fence) {
  const auto copies = make_device_copies(at::kCPU, {at::arange(4)});
  std::vector<uint8_t> target(32);
  const std::vector<CopyTarget> targets{{0, 0, 32, target.data()}};
  copies->start(targets);
  EXPECT_EQ(diary.take(), "record on work, copies waits, on copies, record on copies, on work");
  copies->fence();
  EXPECT_EQ(diary.take(), "work waits");
  copies->wait();
  EXPECT_EQ(diary.take(), "host waits");
}

TEST_F(DeviceCopiesOrder, parts_of_tensors_are_copied_byte_by_byte) {
  const at::Tensor longs = at::arange(100), bytes = at::arange(7, at::kByte);
  const auto copies = make_device_copies(at::kCPU, {longs, bytes});
  std::vector<uint8_t> target(16 + 7);
  const std::vector<CopyTarget> targets{{0, 8 * 42, 16, target.data()},
                                        {1, 0, 7, target.data() + 16}};
  copies->start(targets);
  copies->wait();
  EXPECT_EQ(std::memcmp(target.data(), longs.const_data_ptr<int64_t>() + 42, 16), 0);
  EXPECT_EQ(std::memcmp(target.data() + 16, bytes.const_data_ptr<uint8_t>(), 7), 0);
}

}  // namespace
}  // namespace stoker
