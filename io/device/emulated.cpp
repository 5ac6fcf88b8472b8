// An accelerator that keeps time and computes nothing. Its times are points on the host's steady
// clock, so a run takes as long as it would with the accelerator:
//
// 1. The compute queue is one number: when it will be idle. A step submitted now starts at the
//    latest of now, that number and the end of its batch's copy, and ends its duration later. Its
//    interval is known, exactly, when it is submitted. No thread is needed.
// 2. The copy queue is the same with latency + bytes / bandwidth, under a mutex.
// 3. The host sleeps where it would block on a real device: with `queue_depth` steps outstanding,
//    and where it asks for all to be finished. A depth of 2 keeps the device busy while the host
//    wakes up, and lets the host run ahead by no more than the step that it prepares. With a depth
//    of 0 the host does nothing beside a step, like a program that reads every loss.
// 4. With many ranks a step ends, on all of them, when the slowest has computed and the gradients
//    were exchanged: the ranks tell each other how long theirs will still compute.
// 5. A host slot belongs to the copy queue until its copy has ended, whoever drops the DeviceBatch
//    first, and is let go by the next call after that. So a batch on the device holds no host slot,
//    as on a GPU. Its tensors are meta tensors: a shape without memory that nobody could misread.

#include <algorithm>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "io/core/sample_spec.h"
#include "io/core/system/memory.h"
#include "io/device/device.h"
#include "io/device/step_time.h"

namespace stoker {
namespace {

// The step of a device that is told nothing of its speed.
constexpr double kStepMs = 100;

// A sleep ends up to the kernel's timer slack (50 us) late; that much is spun.
void wait_until(TimePoint time) {
  std::this_thread::sleep_until(time - std::chrono::microseconds(60));
  while (Clock::now() < time) {
  }
}

struct CopyInterval {
  TimePoint start;
  TimePoint end;
};

struct EmulatedOptions {
  std::optional<Accelerator> preset;
  std::optional<double> gflop_per_image;
  std::optional<double> step_ms;
  std::optional<double> images_per_s;
  StepTime distribution;
  std::optional<double> h2d_gb_per_s;
  double h2d_latency_us = 10;
  std::optional<double> allreduce_gb_per_s;
  double allreduce_latency_us = 10;
  double allreduce_overlap = 0;
  int64_t queue_depth = 2;

  template <class V>
  void visit(V& v) {
    v("preset", preset, preset_help());
    v("gflop_per_image", gflop_per_image,
      "With a preset: the work of another network for one image, forward and backward. The "
      "preset's rate is then multiplied by 4.3 / this; alexnet_lrn needs 6.8.",
      Limits{1e-6, 1e6});
    v("step_ms", step_ms,
      "Mean milliseconds of a step, whatever its batch. It is 100 if neither this nor images_per_s "
      "nor preset is given.",
      Limits{0, 1e9});
    v("images_per_s", images_per_s,
      "Instead of step_ms: a step takes its batch size divided by this.", Limits{1e-3, 1e9});
    v("distribution", distribution, "How the times of steps vary around their mean.");
    v("h2d_gb_per_s", h2d_gb_per_s,
      "Bandwidth of copies to the device, in 10^9 bytes per second. Without it the preset says, "
      "else it is 12 (PCIe 3 x16).",
      Limits{1e-3, 1e6});
    v("h2d_latency_us", h2d_latency_us, "Microseconds added to every copy to the device.",
      Limits{0, 1e9});
    v("allreduce_gb_per_s", allreduce_gb_per_s,
      "With several ranks: bandwidth of each rank's link, in 10^9 bytes per second, in a ring "
      "all-reduce of the gradients after every step. Without it the exchange takes no time.",
      Limits{1e-3, 1e6});
    v("allreduce_latency_us", allreduce_latency_us,
      "Microseconds of each of the 2 (ranks - 1) messages of an all-reduce.", Limits{0, 1e9});
    v("allreduce_overlap", allreduce_overlap,
      "The share of a step's computing during which the all-reduce already runs.", Limits{0, 1});
    v("queue_depth", queue_depth,
      same_results("How many steps may be outstanding before the host blocks. 0: the host waits "
                   "for the end of each step."),
      Limits{0, 1024});
    if (!preset && !images_per_s && !step_ms) step_ms = kStepMs;
  }
  void check(const Section& section) const {
    if (preset.has_value() + step_ms.has_value() + images_per_s.has_value() != 1) {
      section.fail_at(section.node().at, "give only one of step_ms, images_per_s and preset");
    }
    if (gflop_per_image && !preset) {
      section.fail_at(section.node().at, "'gflop_per_image' needs a preset");
    }
  }
  DeviceInfo info() const {
    const std::string name = preset ? " " + Field<Accelerator>::dump(*preset).scalar : "";
    return {"emulated" + name, at::kMeta, true, true, "emulated", false};
  }
};

class Emulated final : public Device {
 public:
  using Options = EmulatedOptions;
  Emulated(const Options& options, const Inputs& inputs)
      : options_(options), seed_(inputs.seed), exchange_(inputs.exchange), info_(options.info()) {
    if (options.preset) {
      const AcceleratorPreset& accelerator = preset(*options.preset);
      options_.images_per_s = accelerator.images_per_s * kAlexNetGflop /
                              options.gflop_per_image.value_or(kAlexNetGflop);
      options_.h2d_gb_per_s = options.h2d_gb_per_s.value_or(accelerator.h2d_gb_per_s);
      inputs.notify("device: " + info_.name + ": " + accelerator.source);
    }
  }

  const DeviceInfo& info() const override { return info_; }
  // Faulted in, so that the first batch is not slower than the others.
  HostMemory allocate(size_t bytes) override { return allocate_huge(bytes, true); }

  DeviceBatch copy(const Batch& batch, const SampleSpec& spec) override {
    const auto bytes = static_cast<double>(used_bytes(batch.pixels.get(), batch.size, spec) +
                                           batch.labels->size() * sizeof(int64_t));
    const Clock::duration took = from_seconds(options_.h2d_latency_us / 1e6 +
                                              bytes / (1e9 * options_.h2d_gb_per_s.value_or(12)));
    DeviceBatch result = shapes_of(batch, spec);
    const std::lock_guard lock(copy_mutex_);
    const TimePoint now = Clock::now();
    release_slots(now);
    const TimePoint start = std::max(now, copy_free_);
    copy_free_ = start + took;
    copying_.push_back({batch.pixels, copy_free_});
    result.ready = std::make_shared<CopyInterval>(CopyInterval{start, copy_free_});
    return result;
  }

  void run(const DeviceBatch* batch, const std::function<void()>&) override {
    const auto depth = static_cast<size_t>(options_.queue_depth);
    if (depth > 0 && outstanding_.size() >= depth) {
      wait_until(outstanding_[outstanding_.size() - depth].end);
    }
    BusyInterval step;
    step.submitted = Clock::now();
    step.start = std::max(step.submitted, compute_free_);
    if (batch != nullptr && batch->ready) {
      const auto& copy = *static_cast<const CopyInterval*>(batch->ready.get());
      step.start = std::max(step.start, copy.end);
      step.copy = copy.end - copy.start;
    }
    const Clock::duration computing = duration(batch);
    step.end = step.start + computing;
    const bool trains = batch == nullptr || !batch->evaluation;
    if (trains && exchange_ != nullptr && exchange_->slowest) {
      const TimePoint computed = step.end;
      step.end = std::max(computed, exchange_->slowest(computed));
      step.peers = step.end - computed;
      step.end += allreduce(computing);
    }
    compute_free_ = step.end;
    outstanding_.push_back(step);
    if (depth == 0) wait_until(step.end);
  }

  std::vector<BusyInterval> collect(bool wait) override {
    if (wait) wait_until(compute_free_);
    const TimePoint now = Clock::now();
    std::vector<BusyInterval> finished;
    while (!outstanding_.empty() && outstanding_.front().end <= now) {
      finished.push_back(outstanding_.front());
      outstanding_.pop_front();
    }
    const std::lock_guard lock(copy_mutex_);
    release_slots(now);
    return finished;
  }

 private:
  struct Copying {
    std::shared_ptr<uint8_t> slot;
    TimePoint end;
  };

  Clock::duration duration(const DeviceBatch* batch) {
    double mean = options_.step_ms.value_or(0) / 1e3;
    if (options_.images_per_s) {
      mean = batch == nullptr ? 0 : static_cast<double>(batch->host.size) / *options_.images_per_s;
    }
    return from_seconds(options_.distribution.sample(mean, seed_, steps_++));
  }

  // What of it is not hidden behind computing.
  Clock::duration allreduce(Clock::duration computing) const {
    if (!options_.allreduce_gb_per_s) return {};
    const double took =
        ring_allreduce_s(exchange_->ranks, static_cast<double>(exchange_->gradient_bytes),
                         *options_.allreduce_gb_per_s, options_.allreduce_latency_us);
    return from_seconds(std::max(0.0, took - options_.allreduce_overlap * seconds(computing)));
  }

  void release_slots(TimePoint now) {
    while (!copying_.empty() && copying_.front().end <= now) copying_.pop_front();
  }

  Options options_;
  const uint64_t seed_;
  const StepExchange* const exchange_;  // may be null
  DeviceInfo info_;

  std::mutex copy_mutex_;  // the copy queue: copy() may be called by another thread
  TimePoint copy_free_;
  std::deque<Copying> copying_;

  TimePoint compute_free_;
  std::deque<BusyInterval> outstanding_;  // finished ones, too, until they are collected
  int64_t steps_ = 0;
};

STOKER_REGISTER(Device, "emulated", Emulated);

}  // namespace
}  // namespace stoker
