// How a step is timed without waiting for it:
//
// 1. copy(), on a stream of its own:    [begin] images, labels [end]
// 2. run(), on the trainer's stream:    [submitted] wait for the copy's end [start] work [end]
//    The host's clock is read just before [submitted] is recorded, and when the work is launched.
//    Now and then (LaunchGaps) a step is held back until it is launched whole:
//                                       [submitted] gate [held] wait for the copy's end [start] ...
// 3. Later calls ask with query(), in order, whether a step's [end] has completed. Then all of its
//    events have, and their differences are read: gap = end of the step before -> submitted,
//    wait = submitted -> start, work = start -> end.
// 4. If the host was late, the stream was empty and gap is idle time; if it was ahead, gap is what
//    else was queued, or the microseconds between two events. EventTimeline puts both on the host's
//    clock.
// 5. The host blocks only where `queue_depth` steps are outstanding (which bounds memory, too),
//    once before the first step (the anchor of the first gap), and in collect(true).
//
// Who keeps what until when:
//
// 6. Pinned host memory (pixels, labels): copying_, until the copy's [end] has completed; the next
//    call then lets go of it. A batch on the device holds no host slot.
// 7. Device memory is allocated on the copy stream and used on the trainer's. The caching allocator
//    is told, so that it is not reused before the work queued when it was let go has completed.
//
// Limits: one compute stream. Idle time inside a step is inferred (LaunchGaps), and not seen; what
// is launched outside run() counts as idle.

#include "io/device/stream_device.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>

#include <array>
#include <cmath>
#include <cstring>
#include <deque>
#include <iterator>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "io/device/device.h"
#include "io/device/event_timeline.h"
#include "io/device/frame_upload.h"
#include "io/device/launch_gaps.h"

namespace stoker {
namespace {

Clock::duration between(const c10::Event& begin, const c10::Event& end) {
  return std::chrono::nanoseconds(std::llround(1e6 * begin.elapsedTime(end)));
}

c10::Event timed_event(c10::DeviceType type) { return {type, c10::EventFlag::BACKEND_DEFAULT}; }

// DeviceBatch::ready.
struct Copy {
  c10::Event begin;
  c10::Event end;
};

struct Copying {
  std::shared_ptr<uint8_t> pixels;
  std::vector<HostMemory> rest;  // labels; for frames what FrameUpload says
  std::shared_ptr<Copy> copy;
};

struct Step {
  TimePoint recorded;
  TimePoint launched;
  bool ahead = false;
  bool evaluation = false;
  int64_t samples = 1;
  c10::Event submitted;
  std::optional<c10::Event> held;  // absent: the step was not held back
  c10::Event start;
  c10::Event end;
  std::shared_ptr<Copy> copy;  // null: a step without data

  explicit Step(c10::DeviceType type)
      : submitted(timed_event(type)), start(timed_event(type)), end(timed_event(type)) {}
};

class StreamDevice final : public Device {
 public:
  StreamDevice(DeviceInfo info, int64_t queue_depth, HostAllocator allocate,
               std::function<std::unique_ptr<FrameDecoder>()> make_decoder, HoldStream hold)
      : info_(std::move(info)),
        device_(info_.torch_device),
        queue_depth_(static_cast<size_t>(queue_depth)),
        allocate_(std::move(allocate)),
        guard_(device_.type()),
        // With priority: what decodes on it must not wait until the kernels of a step leave room.
        copy_stream_(guard_.getStreamFromGlobalPool(device_, true)),
        hold_(std::move(hold)),
        frames_(device_, allocate_, std::move(make_decoder)) {}

  ~StreamDevice() override {
    try {
      if (!copying_.empty()) copying_.back().copy->end.synchronize();
      if (held_on_) held_on_->synchronize();  // the gate is ours
    } catch (...) {
      // A failed device reads no host memory any more.
    }
  }

  const DeviceInfo& info() const override { return info_; }
  HostMemory allocate(size_t bytes) override { return allocate_(bytes); }

  DeviceBatch copy(const Batch& batch, const SampleSpec& spec) override {
    const c10::StreamGuard on_copy_stream(copy_stream_);
    const at::TensorOptions labels_type(at::kLong);
    auto copy =
        std::make_shared<Copy>(Copy{timed_event(device_.type()), timed_event(device_.type())});
    Copying copying{batch.pixels, {allocate_(batch.labels->size() * sizeof(int64_t))}, copy};
    const HostMemory& labels = copying.rest.front();
    std::memcpy(labels.data.get(), batch.labels->data(), labels.bytes);
    DeviceBatch result = without_slot(batch);
    result.labels = at::empty({batch.size}, labels_type.device(device_));
    copy->begin.record(copy_stream_);
    result.labels.copy_(at::from_blob(labels.data.get(), {batch.size}, labels_type), true);
    result.images = copy_images(batch, spec, copying);
    copy->end.record(copy_stream_);
    result.ready = copy;
    const std::lock_guard lock(copying_mutex_);
    release_slots();
    copying_.push_back(std::move(copying));
    return result;
  }

  void run(const DeviceBatch* batch, const std::function<void()>& work) override {
    const c10::DeviceGuard on_device(device_);
    const c10::Stream stream = guard_.getStream(device_);
    if (outstanding_.size() >= queue_depth_) {
      outstanding_[outstanding_.size() - queue_depth_].end.synchronize();
    }
    if (!timeline_) anchor(stream);
    Step step(device_.type());
    step.ahead = !outstanding_.empty() && !outstanding_.back().end.query();
    step.recorded = Clock::now();
    if (batch != nullptr) {
      step.evaluation = batch->evaluation;
      step.samples = batch->host.size;
    }
    step.submitted.record(stream);
    hold(step, stream);
    // A batch without a copy was made on this stream.
    if (batch != nullptr && batch->ready) {
      step.copy = std::static_pointer_cast<Copy>(batch->ready);
      step.copy->end.block(stream);
      guard_.recordDataPtrOnStream(batch->images.storage().data_ptr(), stream);
      guard_.recordDataPtrOnStream(batch->labels.storage().data_ptr(), stream);
    }
    step.start.record(stream);
    try {
      work();
    } catch (...) {
      if (step.held) gate_.release();  // held_on_ stays: nobody will know when the stream got there
      throw;
    }
    step.launched = Clock::now();
    if (step.held) gate_.release();
    step.end.record(stream);
    outstanding_.push_back(std::move(step));
    resolve();
  }

  std::vector<BusyInterval> collect(bool wait) override {
    if (wait && !outstanding_.empty()) outstanding_.back().end.synchronize();
    resolve();
    const std::lock_guard lock(copying_mutex_);
    release_slots();
    return std::exchange(finished_, {});
  }

 private:
  at::Tensor copy_images(const Batch& batch, const SampleSpec& spec, Copying& copying) {
    if (spec.frame == 0) {
      const BatchLayout layout = batch_layout(batch.size, spec);
      const at::TensorOptions type(layout.type);
      at::Tensor images = at::empty(layout.shape, type.device(device_));
      images.copy_(at::from_blob(batch.pixels.get(), layout.shape, type), true);
      return images;
    }
    try {
      FrameUpload::Started started = frames_.start(batch, spec, copy_stream_);
      std::move(started.keep.begin(), started.keep.end(), std::back_inserter(copying.rest));
      return started.frames;
    } catch (...) {
      copy_stream_.synchronize();  // what is queued already still reads the slot
      throw;
    }
  }

  // One step at a time.
  void hold(Step& step, const c10::Stream& stream) {
    if (!hold_ || held_on_ || !gaps_[step.evaluation].hold_next()) return;
    gate_.try_acquire();  // opened too late, the last time
    if (!hold_(stream, gate_)) return;
    step.held = timed_event(device_.type());
    step.held->record(stream);
    held_on_ = stream;
  }

  // The event from which the first gap counts, completed at a known time.
  void anchor(const c10::Stream& stream) {
    last_end_ = timed_event(device_.type());
    last_end_->record(stream);
    last_end_->synchronize();
    timeline_.emplace(Clock::now());
  }

  void resolve() {
    while (!outstanding_.empty() && outstanding_.front().end.query()) {
      Step& step = outstanding_.front();
      EventTimes times;
      times.recorded = step.recorded;
      times.ahead = step.ahead;
      times.gap = between(*last_end_, step.submitted);
      if (step.held) times.held = between(step.submitted, *step.held);
      times.wait = between(step.held ? *step.held : step.submitted, step.start);
      times.work = between(step.start, step.end);
      if (step.copy) times.copy = between(step.copy->begin, step.copy->end);
      BusyInterval busy = timeline_->add(times);
      busy.starved = gaps_[step.evaluation].starved({.samples = step.samples,
                                                     .launched = step.launched,
                                                     .start = busy.end - times.work,
                                                     .work = times.work});
      finished_.push_back(busy);
      if (step.held) held_on_.reset();
      last_end_ = std::move(step.end);
      outstanding_.pop_front();
    }
  }

  void release_slots() {
    while (!copying_.empty() && copying_.front().copy->end.query()) copying_.pop_front();
  }

  const DeviceInfo info_;
  const at::Device device_;
  const size_t queue_depth_;
  const HostAllocator allocate_;
  const c10::impl::VirtualGuardImpl guard_;
  const c10::Stream copy_stream_;
  const HoldStream hold_;
  FrameUpload frames_;

  std::mutex copying_mutex_;  // copy() may be called by another thread
  std::deque<Copying> copying_;

  std::array<LaunchGaps, 2> gaps_;  // of training steps, of evaluating ones
  std::binary_semaphore gate_{0};
  std::optional<c10::Stream> held_on_;  // while a step that was held back is outstanding

  std::optional<c10::Event> last_end_;
  std::optional<EventTimeline> timeline_;
  std::deque<Step> outstanding_;
  std::vector<BusyInterval> finished_;
};

}  // namespace

std::unique_ptr<Device> make_stream_device(
    DeviceInfo info, int64_t queue_depth, HostAllocator allocate,
    std::function<std::unique_ptr<FrameDecoder>()> make_decoder, HoldStream hold) {
  return std::make_unique<StreamDevice>(std::move(info), queue_depth, std::move(allocate),
                                        std::move(make_decoder), std::move(hold));
}

}  // namespace stoker
