#include "io/device/stream_device.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "io/device/exchange_time.h"

// The stream and event logic of the cuda device, run without a GPU: LibTorch is given a guard for
// its meta device whose streams keep time as CUDA's do.

namespace stoker {
namespace {

using std::chrono::milliseconds;

constexpr c10::StreamId kCompute = 0;
constexpr c10::StreamId kCopy = 1;

// Two in-order streams. An event completes when its stream gets to it. One thread.
class FakeGpu final : public c10::impl::DeviceGuardImplInterface {
 public:
  struct Mark {
    c10::StreamId stream;
    TimePoint at;
  };

  void reset() const { state_ = {}; }
  // Work on the compute stream, as a kernel launched now.
  void launch(Clock::duration time) const { enqueue(kCompute, time); }
  void copy_takes(Clock::duration time) const { state_.copy_time = time; }
  void finish_everything() const { state_.finished = true; }
  std::vector<TimePoint> marks(c10::StreamId stream) const {
    std::vector<TimePoint> result;
    for (const Mark& mark : state_.marks) {
      if (mark.stream == stream) result.push_back(mark.at);
    }
    return result;
  }
  int recorded_uses() const { return state_.uses; }

  c10::DeviceType type() const override { return c10::DeviceType::Meta; }
  c10::Device exchangeDevice(c10::Device d) const override { return d; }
  c10::Device getDevice() const override { return {type(), 0}; }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  c10::Stream getStream(c10::Device d) const override { return stream(d, state_.current); }
  c10::Stream getStreamFromGlobalPool(c10::Device d, bool) const override {
    return stream(d, kCopy);
  }
  c10::Stream exchangeStream(c10::Stream s) const override {
    return stream(s.device(), std::exchange(state_.current, s.id()));
  }

  void record(void** event, const c10::Stream& s, c10::DeviceIndex,
              c10::EventFlag flag) const override {
    EXPECT_EQ(flag, c10::EventFlag::BACKEND_DEFAULT);
    const bool end_of_copy = s.id() == kCopy && marks(kCopy).size() % 2 == 1;
    enqueue(s.id(), end_of_copy ? state_.copy_time : Clock::duration{});
    state_.marks.push_back({s.id(), state_.free[s.id()]});
    *event = &state_.marks.back();
  }
  void block(void* event, const c10::Stream& s) const override {
    state_.free[s.id()] = std::max(state_.free[s.id()], mark(event).at);
  }
  bool queryEvent(void* event) const override {
    return state_.finished || mark(event).at <= Clock::now();
  }
  void synchronizeEvent(void* event) const override {
    if (!state_.finished) std::this_thread::sleep_until(mark(event).at);
  }
  double elapsedTime(void* begin, void* end, c10::DeviceIndex) const override {
    return 1e3 * seconds(mark(end).at - mark(begin).at);
  }
  void recordDataPtrOnStream(const c10::DataPtr&, const c10::Stream& s) const override {
    EXPECT_EQ(s.id(), kCompute);
    ++state_.uses;
  }

 private:
  struct State {
    c10::StreamId current = kCompute;
    std::map<c10::StreamId, TimePoint> free;
    std::deque<Mark> marks;  // events: addresses are stable
    Clock::duration copy_time{};
    bool finished = false;
    int uses = 0;
  };

  static const Mark& mark(void* event) { return *static_cast<Mark*>(event); }
  static c10::Stream stream(c10::Device d, c10::StreamId id) {
    return c10::Stream(c10::Stream::UNSAFE, c10::Device(d.type(), 0), id);
  }
  void enqueue(c10::StreamId id, Clock::duration time) const {
    state_.free[id] = std::max(state_.free[id], Clock::now()) + time;
  }

  mutable State state_;  // the interface is const: the device it stands for is elsewhere
};

const FakeGpu gpu;

void set_meta_guard(const c10::impl::DeviceGuardImplInterface* guard) {
  const c10::impl::DeviceGuardImplRegistrar set(c10::DeviceType::Meta, guard);
}

const SampleSpec kSpec{2, 3, 3};

class StreamDevice : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    original_ = c10::impl::getDeviceGuardImpl(c10::DeviceType::Meta);
    set_meta_guard(&gpu);
  }
  static void TearDownTestSuite() { set_meta_guard(original_); }

  StreamDevice() { gpu.reset(); }

  static HostMemory allocate(size_t bytes) {
    return {std::shared_ptr<uint8_t>(new uint8_t[bytes], std::default_delete<uint8_t[]>()), bytes,
            true};
  }
  static Batch batch() {
    Batch result;
    result.size = 4;
    result.pixels = allocate(4 * kSpec.bytes()).data;
    result.labels = std::make_shared<std::vector<int64_t>>(4);
    return result;
  }
  // The fake stream waits as long as all of `late` takes.
  HoldStream hold() {
    return [this](const c10::Stream&, std::binary_semaphore&) {
      gpu.launch(milliseconds(20));
      ++held_;
      return true;
    };
  }
  void run(Clock::duration work) {
    const DeviceBatch on_device = device_->copy(batch(), kSpec);
    device_->run(&on_device, [&] { gpu.launch(work); });
  }

  int held_ = 0;
  std::vector<BusyInterval> steps_;
  static inline const c10::impl::DeviceGuardImplInterface* original_ = nullptr;
  const std::unique_ptr<Device> device_ = make_stream_device(
      {"fake", at::Device(at::kMeta, 0), false, true, "events"}, 2, allocate, nullptr, hold());
};

TEST_F(StreamDevice, reads_from_its_events_how_long_steps_worked_and_waited_for_their_copies) {
  gpu.copy_takes(milliseconds(2));
  for (int step = 0; step < 5; ++step) run(milliseconds(step));
  const std::vector<BusyInterval> steps = device_->collect(true);
  ASSERT_EQ(steps.size(), 5u);
  // One anchor, then submitted, start and end of each step; begin and end of each copy.
  const std::vector<TimePoint> compute = gpu.marks(kCompute), copies = gpu.marks(kCopy);
  ASSERT_EQ(compute.size(), 1 + 3 * 5u);
  ASSERT_EQ(copies.size(), 2 * 5u);
  TimePoint last{};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(steps[i].end - steps[i].start, compute[3 + 3 * i] - compute[2 + 3 * i]);
    EXPECT_EQ(steps[i].start - steps[i].submitted, compute[2 + 3 * i] - compute[1 + 3 * i]);
    EXPECT_GE(steps[i].end - steps[i].start, static_cast<int64_t>(i) * milliseconds(1));
    EXPECT_EQ(steps[i].copy, copies[1 + 2 * i] - copies[2 * i]);
    EXPECT_GE(compute[2 + 3 * i], copies[1 + 2 * i]);  // the work began after the copy
    EXPECT_GE(steps[i].submitted, last);
    last = steps[i].end;
  }
}

// Each step's second kernel is launched 2 ms after the first one, which takes 1 ms.
TEST_F(StreamDevice, finds_gaps_within_steps_once_it_has_held_one_back) {
  for (int step = 0; step < 12; ++step) {
    device_->run(nullptr, [&] {
      gpu.launch(milliseconds(1));
      std::this_thread::sleep_for(milliseconds(2));
      gpu.launch(milliseconds(1));
    });
    device_->collect(true).swap(steps_);
    const Clock::duration work = steps_.at(0).end - steps_.at(0).start;
    if (step == 7) {
      EXPECT_EQ(work, milliseconds(2));
    }
    const Clock::duration gaps = step > 7 ? work - milliseconds(2) : Clock::duration{};
    EXPECT_NEAR(seconds(steps_[0].starved), seconds(gaps), 1e-6) << step;
  }
  EXPECT_EQ(held_, 1);
}

TEST_F(StreamDevice, hands_out_every_step_once) {
  run(milliseconds(1));
  run(milliseconds(1));
  size_t count = device_->collect(false).size();
  run(milliseconds(1));
  count += device_->collect(true).size();
  EXPECT_EQ(count, 3u);
  EXPECT_TRUE(device_->collect(true).empty());
}

TEST_F(StreamDevice, runs_ahead_by_the_depth_of_its_queue_and_no_further) {
  for (size_t step = 0; step < 5; ++step) {
    run(milliseconds(5));
    if (step >= 2) {
      EXPECT_LE(gpu.marks(kCompute)[3 * (step - 2) + 3], Clock::now());
    }
  }
}

TEST_F(StreamDevice, does_not_wait_for_what_the_queue_holds) {
  run(std::chrono::hours(1));
  run(std::chrono::hours(1));
  EXPECT_TRUE(device_->collect(false).empty());
  gpu.finish_everything();
  EXPECT_EQ(device_->collect(false).size(), 2u);
}

TEST_F(StreamDevice, keeps_the_host_slot_until_the_copy_has_ended) {
  gpu.copy_takes(std::chrono::hours(1));
  Batch source = batch();
  const std::weak_ptr<uint8_t> slot = source.pixels;
  DeviceBatch on_device = device_->copy(source, kSpec);
  source = {};
  EXPECT_EQ(on_device.host.pixels, nullptr);
  EXPECT_EQ(on_device.host.size, 4);
  on_device = {};
  device_->copy(batch(), kSpec);
  device_->collect(false);
  EXPECT_FALSE(slot.expired());
  gpu.finish_everything();
  device_->collect(false);
  EXPECT_TRUE(slot.expired());
}

TEST_F(StreamDevice, tells_the_allocator_which_stream_uses_the_batch) {
  run(milliseconds(0));
  EXPECT_EQ(gpu.recorded_uses(), 2);
}

TEST_F(StreamDevice, a_step_without_data_waits_for_no_copy) {
  gpu.copy_takes(std::chrono::hours(1));
  device_->run(nullptr, [] { gpu.launch(milliseconds(1)); });
  const std::vector<BusyInterval> steps = device_->collect(true);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].copy, Clock::duration{});
}

TEST_F(StreamDevice, a_step_that_fails_is_no_step_and_the_next_one_is) {
  const auto fail = [] { throw std::runtime_error("no"); };
  EXPECT_THROW(device_->run(nullptr, fail), std::runtime_error);
  run(milliseconds(1));
  EXPECT_EQ(device_->collect(true).size(), 1u);
}

TEST_F(StreamDevice, exchanges_are_timed_but_for_the_last_two_which_nobody_waits_for) {
  LiveSegments now;
  StepLedger ledger(now);
  ledger.begin();
  ExchangeTime time(device_->info(), ledger);
  EXPECT_EQ(time.seconds(), 0);
  for (const Clock::duration exchange :
       {Clock::duration(milliseconds(1)), Clock::duration(milliseconds(3)),
        Clock::duration(std::chrono::hours(1)), Clock::duration(std::chrono::hours(1))}) {
    gpu.launch(milliseconds(1));  // backward
    time.begin();
    EXPECT_EQ(now.read().segment, Segment::allreduce);
    gpu.launch(exchange);
    time.end();
    EXPECT_EQ(now.read().segment, Segment::compute);
  }
  const std::vector<TimePoint> marks = gpu.marks(kCompute);
  ASSERT_EQ(marks.size(), 8u);
  EXPECT_DOUBLE_EQ(time.seconds(), seconds(marks[1] - marks[0]) + seconds(marks[3] - marks[2]));
  EXPECT_GE(time.seconds(), 0.004);
}

}  // namespace
}  // namespace stoker
