// The clock of an emulated accelerator. Times are points of the host's steady clock, so a run with
// it takes as long as it would; nothing is computed and no thread is needed:
//
// 1. The compute queue is the time at which it will be idle. A step submitted now starts at the
// latest
//    of now, that time and the end of its batch's copy, and ends its duration later. Its interval
//    is known, exactly, the moment it is submitted.
// 2. The copy queue is the same with bytes / bandwidth + latency.
// 3. The host sleeps where it would block on a real device: when `queue_depth` steps are
// outstanding,
//    and when it asks for all to be finished. Sleeping too long delays the host, as it does in
//    reality, and never adds device time.
// 4. A batch's host slot is in use until its copy has ended. The queue keeps it until then, whoever
//    else lets go of it first.

#include <algorithm>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "io/core/error.h"
#include "io/device/host_memory.h"
#include "io/device/step_time.h"

namespace stoker {
namespace {

struct CopyInterval {
  TimePoint start;
  TimePoint end;
};

Clock::duration from_seconds(double s) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s));
}

class Emulated final : public Device {
 public:
  struct Options {
    std::optional<std::string> preset;
    std::optional<double> step_ms;
    std::optional<double> images_per_s;
    Distribution distribution = Distribution::constant;
    double stdev_ms = 0;
    std::optional<double> h2d_gb_per_s;
    double h2d_latency_us = 10;
    int64_t queue_depth = 2;
    template <class V>
    void visit(V& v) {
      v("preset", preset, "k4000, k80 or h200: rate and bandwidth by calculation");
      v("step_ms", step_ms, "time of a step, whatever its batch", Limits{0, 1e9});
      v("images_per_s", images_per_s, "instead of step_ms: a step takes batch / this",
        Limits{1e-3, 1e9});
      v("distribution", distribution, "of the step times around their mean, seeded by run.seed");
      v("stdev_ms", stdev_ms, "standard deviation of the step times", Limits{0, 1e9});
      v("h2d_gb_per_s", h2d_gb_per_s, "bandwidth of copies to the device; absent: 12 (PCIe 3 x16)",
        Limits{1e-3, 1e6});
      v("h2d_latency_us", h2d_latency_us, "added to every copy", Limits{0, 1e9});
      v("queue_depth", queue_depth, "steps outstanding before the host blocks", Limits{1, 1024});
    }
    void check(const Section& section) const {
      const int given = preset.has_value() + step_ms.has_value() + images_per_s.has_value();
      if (given != 1)
        section.fail_at(section.node().at, "give one of step_ms, images_per_s, preset");
      if (preset && find_preset(*preset) == nullptr) {
        section.fail("preset", "must be one of " + preset_names() + ", got '" + *preset + "'");
      }
      if (distribution == Distribution::constant && stdev_ms > 0) {
        section.fail("stdev_ms", "needs a distribution: normal, lognormal or gamma");
      }
    }
  };

  Emulated(const Options& options, const Inputs& inputs)
      : options_(options), seed_(inputs.seed), gb_per_s_(options.h2d_gb_per_s.value_or(12)) {
    info_.name = "emulated";
    if (options_.preset) {
      const Preset& preset = *find_preset(*options_.preset);
      options_.images_per_s = preset.images_per_s;
      gb_per_s_ = options.h2d_gb_per_s.value_or(preset.h2d_gb_per_s);
      info_.name += std::string(" ") + preset.name;
      inputs.notify(std::string("device: emulated ") + preset.source);
    }
    info_.emulated = true;
    info_.own_memory = true;
    info_.timing_method = "emulated";
    compute_free_ = copy_free_ = Clock::now();
  }

  const DeviceInfo& info() const override { return info_; }
  HostMemory allocate(size_t bytes) override { return allocate_host(bytes); }

  DeviceBatch copy(const Batch& batch, const SampleSpec& spec) override {
    DeviceBatch result = view_batch(batch, spec);
    const double bytes = static_cast<double>(batch.size) * static_cast<double>(spec.bytes() + 8);
    const auto took = from_seconds(1e-6 * options_.h2d_latency_us + bytes / (1e9 * gb_per_s_));
    std::lock_guard lock(copy_mutex_);
    const TimePoint start = std::max(Clock::now(), copy_free_);
    copy_free_ = start + took;
    result.ready = std::make_shared<CopyInterval>(CopyInterval{start, copy_free_});
    return result;
  }

  void run(const DeviceBatch* batch, const std::function<void()>&) override {
    if (outstanding_.size() >= static_cast<size_t>(options_.queue_depth)) {
      std::this_thread::sleep_until(
          outstanding_[outstanding_.size() - static_cast<size_t>(options_.queue_depth)].step.end);
    }
    const TimePoint now = Clock::now();
    CopyInterval copy{now, now};
    if (batch != nullptr) copy = *std::static_pointer_cast<CopyInterval>(batch->ready);
    BusyInterval step;
    step.submitted = now;
    step.start = std::max({now, compute_free_, copy.end});
    step.end = compute_free_ = step.start + duration(batch);
    step.copy = copy.end - copy.start;
    outstanding_.push_back({step, batch != nullptr ? batch->host : Batch{}, copy.end});
    release(now);
  }

  std::vector<BusyInterval> collect(bool wait) override {
    if (wait) std::this_thread::sleep_until(compute_free_);
    const TimePoint now = Clock::now();
    std::vector<BusyInterval> finished;
    while (!outstanding_.empty() && outstanding_.front().step.end <= now) {
      finished.push_back(outstanding_.front().step);
      outstanding_.pop_front();
    }
    release(now);
    return finished;
  }

 private:
  struct Outstanding {
    BusyInterval step;
    Batch host;
    TimePoint copied;
  };

  Clock::duration duration(const DeviceBatch* batch) {
    StepTime time{options_.distribution, options_.step_ms.value_or(0), options_.stdev_ms};
    if (options_.images_per_s && batch != nullptr) {
      time.mean_ms = 1e3 * static_cast<double>(batch->host.size) / *options_.images_per_s;
    }
    return from_seconds(1e-3 * time.sample_ms(seed_, steps_++));
  }

  void release(TimePoint now) {
    for (Outstanding& entry : outstanding_) {
      if (entry.copied <= now) entry.host = {};
    }
  }

  Options options_;
  const uint64_t seed_;
  double gb_per_s_;
  DeviceInfo info_;
  std::mutex copy_mutex_;  // the copy queue: copy() may be called by another thread
  TimePoint copy_free_;
  TimePoint compute_free_;
  std::deque<Outstanding> outstanding_;
  int64_t steps_ = 0;
};

STOKER_REGISTER(Device, "emulated", Emulated);

}  // namespace
}  // namespace stoker
