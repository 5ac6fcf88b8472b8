#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

#include "io/metrics/idle.h"
#include "io/metrics/ledger.h"
#include "tests/device/device_fixture.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

std::vector<BusyInterval> run_steps(DeviceFixture& fixture, int steps, int64_t size = 4) {
  for (int step = 0; step < steps; ++step) {
    const DeviceBatch batch = fixture.copy(size);
    fixture.device->run(&batch, no_work);
  }
  return fixture.device->collect(true);
}

TEST(Emulated, every_step_takes_the_given_time_exactly) {
  DeviceFixture fixture("{type: emulated, step_ms: 1.5}");
  for (const BusyInterval& step : run_steps(fixture, 5)) {
    EXPECT_EQ(step.end - step.start, microseconds(1500));
  }
}

TEST(Emulated, at_a_rate_a_step_takes_its_batch_by_the_rate) {
  DeviceFixture fixture("{type: emulated, images_per_s: 10000}");
  for (const BusyInterval& step : run_steps(fixture, 3, 20)) {
    EXPECT_EQ(step.end - step.start, milliseconds(2));
  }
}

// 1 ms of its own, until the slowest rank has computed 3 ms later; then 2 (n - 1) / n of 3000 bytes
// at 1 byte/us, and 2 (n - 1) latencies, less what runs beside computing.
TEST(Emulated, a_step_of_many_ranks_ends_with_the_slowest_and_the_exchange) {
  const auto step_of = [](const std::string& more) {
    DeviceFixture fixture("{type: emulated, step_ms: 1" + more + "}");
    fixture.exchange = {3, 3000, [](TimePoint computed) { return computed + milliseconds(3); }};
    return run_steps(fixture, 1).front();
  };
  const BusyInterval plain = step_of("");
  EXPECT_EQ(plain.end - plain.start, milliseconds(4));
  EXPECT_EQ(plain.peers, milliseconds(3));
  const std::string link = ", allreduce_gb_per_s: 0.001, allreduce_latency_us: 10";
  const BusyInterval exchanged = step_of(link);
  EXPECT_EQ(exchanged.end - exchanged.start, microseconds(4000 + 4000 + 40));
  EXPECT_EQ(exchanged.peers, milliseconds(3));
  const BusyInterval hidden = step_of(link + ", allreduce_overlap: 0.5");
  EXPECT_EQ(hidden.end - hidden.start, microseconds(4000 + 4000 + 40 - 500));
}

TEST(Emulated, a_copy_takes_its_latency_and_its_bytes_by_the_bandwidth) {
  DeviceFixture fixture("{type: emulated, step_ms: 0, h2d_gb_per_s: 0.001, h2d_latency_us: 20}");
  // 4 samples of 18 bytes and a label of 8: 104 bytes at 1 byte/us.
  for (const BusyInterval& step : run_steps(fixture, 3)) EXPECT_EQ(step.copy, microseconds(124));
}

TEST(Emulated, copies_are_made_one_after_another) {
  DeviceFixture fixture("{type: emulated, step_ms: 0, h2d_latency_us: 2000, h2d_gb_per_s: 1000}");
  const TimePoint begin = Clock::now();
  const std::vector<DeviceBatch> batches{fixture.copy(), fixture.copy(), fixture.copy()};
  for (const DeviceBatch& batch : batches) fixture.device->run(&batch, no_work);
  const std::vector<BusyInterval> steps = fixture.device->collect(true);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_GE(steps[i].start - begin, static_cast<int64_t>(i + 1) * milliseconds(2));
  }
}

TEST(Emulated, the_host_runs_ahead_by_the_depth_of_the_queue) {
  DeviceFixture fixture("{type: emulated, step_ms: 2, queue_depth: 3}");
  const std::vector<BusyInterval> steps = run_steps(fixture, 8);
  for (size_t i = 3; i < steps.size(); ++i) EXPECT_GE(steps[i].submitted, steps[i - 3].end);
}

TEST(Emulated, with_a_depth_of_0_the_host_waits_for_each_step) {
  DeviceFixture fixture("{type: emulated, step_ms: 2, queue_depth: 0}");
  for (int step = 0; step < 3; ++step) {
    fixture.device->run(nullptr, no_work);
    EXPECT_EQ(fixture.device->collect(false).size(), 1u);
  }
}

TEST(Emulated, a_step_starts_when_it_was_submitted_or_when_the_one_before_it_ends) {
  DeviceFixture fixture("{type: emulated, step_ms: 5, queue_depth: 4}");
  for (int step = 0; step < 4; ++step) fixture.device->run(nullptr, no_work);
  TimePoint last;
  for (const BusyInterval& step : fixture.device->collect(true)) {
    EXPECT_EQ(step.start, std::max(step.submitted, last));
    last = step.end;
  }
}

TEST(Emulated, does_not_wait_for_what_the_queue_holds) {
  DeviceFixture fixture("{type: emulated, step_ms: 1e9, queue_depth: 3}");
  for (int step = 0; step < 3; ++step) fixture.device->run(nullptr, no_work);
  EXPECT_TRUE(fixture.device->collect(false).empty());
}

TEST(Emulated, the_slot_is_not_handed_back_before_the_copy_has_ended) {
  DeviceFixture fixture("{type: emulated, step_ms: 0, h2d_latency_us: 1000000000}");
  std::weak_ptr<uint8_t> slot;
  {
    const Batch batch = fixture.batch();
    slot = batch.pixels;
    fixture.device->copy(batch, kSpec);  // dropped without a step
  }
  fixture.copy();
  fixture.device->collect(false);
  EXPECT_FALSE(slot.expired());
  fixture.device.reset();
  EXPECT_TRUE(slot.expired());
}

TEST(Emulated, a_batch_on_the_device_holds_no_slot_once_its_copy_has_ended) {
  DeviceFixture fixture("{type: emulated, step_ms: 0, h2d_latency_us: 0, h2d_gb_per_s: 1000}");
  Batch batch = fixture.batch();
  const std::weak_ptr<uint8_t> slot = batch.pixels;
  const DeviceBatch kept = fixture.device->copy(batch, kSpec);
  batch = {};
  fixture.device->run(&kept, no_work);
  fixture.device->collect(true);
  EXPECT_TRUE(slot.expired());
  EXPECT_EQ(kept.images.size(0), 4);
}

TEST(Emulated, the_same_seed_gives_the_same_step_times) {
  const std::string yaml =
      "{type: emulated, step_ms: 0.5, distribution: {type: gamma, relative_stdev: 0.3}}";
  const auto durations = [&](uint64_t seed) {
    DeviceFixture fixture(yaml, seed);
    std::vector<Clock::duration> result;
    for (const BusyInterval& step : run_steps(fixture, 6)) result.push_back(step.end - step.start);
    return result;
  };
  const std::vector<Clock::duration> first = durations(1);
  EXPECT_EQ(first, durations(1));
  EXPECT_NE(first, durations(2));
  EXPECT_EQ(std::set(first.begin(), first.end()).size(), 6u);
}

TEST(Emulated, a_preset_says_where_its_rate_is_from) {
  DeviceFixture fixture("{type: emulated, preset: k80}");
  EXPECT_EQ(fixture.device->info().name, "emulated k80");
  EXPECT_EQ(fixture.notes,
            (std::vector<std::string>{
                "device: emulated k80: one GPU of a Tesla K80 (the 2018 study's cluster): 656 "
                "images/s as TensorFlow's benchmarks of May 2017 measured (AlexNet, synthetic "
                "data, batch 512, Google Compute Engine); 12 of PCIe 3 x16's 15.8 GB/s"}));
}

TEST(Emulated, has_one_source_of_its_step_time_and_a_default) {
  const std::string expected =
      "t.yaml:1:1: device: give only one of step_ms, images_per_s and preset";
  EXPECT_EQ(default_component<Device>("emulated").dump().find("step_ms")->scalar, "100");
  EXPECT_EQ(error_of([] { DeviceFixture fixture("{type: emulated, step_ms: 1, preset: k80}"); }),
            expected);
}

TEST(Emulated, a_preset_is_as_much_slower_as_another_network_is_larger) {
  const auto step_s = [](const std::string& options) {
    DeviceFixture fixture("{type: emulated, preset: k80" + options + "}");
    const BusyInterval step = run_steps(fixture, 1).front();
    return std::chrono::duration<double>(step.end - step.start).count();
  };
  EXPECT_NEAR(step_s(", gflop_per_image: 8.6") / step_s(""), 2, 1e-3);
}

TEST(Emulated, rejects_what_it_cannot_use) {
  EXPECT_EQ(
      error_of([] { DeviceFixture fixture("{type: emulated, step_ms: 1, gflop_per_image: 7}"); }),
      "t.yaml:1:1: device: 'gflop_per_image' needs a preset");
  EXPECT_EQ(error_of([] { DeviceFixture fixture("{type: emulated, preset: k90}"); }),
            "t.yaml:1:26: device: 'preset' must be one of k4000, k80, h100, h200, got 'k90' (did "
            "you mean 'k80'?)");
  EXPECT_EQ(
      error_of([] {
        DeviceFixture fixture("{type: emulated, step_ms: 1, distribution: {relative_stdev: 1}}");
      }),
      "t.yaml:1:44: device.distribution: 'relative_stdev' needs a type: normal, lognormal or "
      "gamma");
}

// A trainer's loop around the device, and what it should come to. The expectation is made from the
// recorded host segments, so it holds however late the host was woken.
struct Loop {
  explicit Loop(const std::string& yaml, milliseconds data, milliseconds log) : fixture(yaml) {
    ledger.begin();
    IdleAttribution attribution(ledger.begun());
    for (int step = 0; step < 8; ++step) {
      ledger.switch_to(Segment::data_wait);
      const Batch batch = fixture.batch();
      std::this_thread::sleep_for(data);
      ledger.switch_to(Segment::h2d);
      const DeviceBatch on_device = fixture.device->copy(batch, kSpec);
      ledger.switch_to(Segment::compute);
      fixture.device->run(&on_device, no_work);
      ledger.switch_to(Segment::log);
      std::this_thread::sleep_for(log);
      ledger.switch_to(Segment::other);
      take(attribution, false);
    }
    ledger.switch_to(Segment::compute);
    take(attribution, true);
    ledger.end();
    measured = attribution.total();
  }

  void take(IdleAttribution& attribution, bool wait) {
    const std::vector<BusyInterval> finished = fixture.device->collect(wait);
    for (const SegmentInterval& segment : ledger.take_intervals()) {
      segments.push_back(segment);
      attribution.add_segment(segment);
    }
    for (const BusyInterval& step : finished) {
      steps.push_back(step);
      attribution.add_step(step);
    }
  }

  // What the device and the host did at a moment: "busy", "h2d", "data" or "host".
  std::string cause_at(TimePoint time) const {
    for (const BusyInterval& step : steps) {
      if (step.start <= time && time < step.end) return "busy";
    }
    const auto next = std::find_if(steps.begin(), steps.end(),
                                   [&](const BusyInterval& step) { return time < step.start; });
    if (next->submitted <= time) return "h2d";
    for (const SegmentInterval& segment : segments) {
      if (time < segment.begin || segment.end <= time) continue;
      if (segment.segment == Segment::data_wait) return "data";
      return segment.segment == Segment::h2d ? "h2d" : "host";
    }
    return "host";
  }

  // The same totals as IdleAttribution by another way: cut the time at every edge there is, and ask
  // for each piece what was going on.
  double expected(const std::string& cause) const {
    std::set<TimePoint> edges{ledger.begun()};
    for (const SegmentInterval& segment : segments) edges.insert({segment.begin, segment.end});
    for (const BusyInterval& step : steps) edges.insert({step.submitted, step.start, step.end});
    double sum = 0;
    for (auto edge = edges.begin(); *edge < steps.back().end; ++edge) {
      if (cause_at(*edge) == cause) sum += seconds(*std::next(edge) - *edge);
    }
    return sum;
  }

  double idle(IdleCause cause) const { return measured.idle[static_cast<size_t>(cause)]; }

  void check() const {
    EXPECT_NEAR(measured.busy, expected("busy"), 1e-9);
    EXPECT_NEAR(idle(IdleCause::data), expected("data"), 1e-9);
    EXPECT_NEAR(idle(IdleCause::h2d), expected("h2d"), 1e-9);
    EXPECT_NEAR(idle(IdleCause::host), expected("host"), 1e-9);
    EXPECT_NEAR(measured.observed, seconds(steps.back().end - ledger.begun()), 1e-9);
    for (size_t i = 1; i < steps.size(); ++i) {
      EXPECT_GE(steps[i].start, std::max(steps[i].submitted, steps[i - 1].end));
    }
  }

  DeviceFixture fixture;
  LiveSegments now;
  StepLedger ledger{now};
  std::vector<SegmentInterval> segments;
  std::vector<BusyInterval> steps;
  DeviceTime measured;
};

TEST(EmulatedLoop, data_that_is_late_is_data_idle_time) {
  const Loop loop("{type: emulated, step_ms: 1}", milliseconds(4), milliseconds(0));
  loop.check();
  EXPECT_GT(loop.idle(IdleCause::data), 0.02);  // 8 waits of 4 ms less 7 steps of 1 ms
}

TEST(EmulatedLoop, data_wait_behind_a_busy_device_is_no_idle_time) {
  const Loop loop("{type: emulated, step_ms: 10}", milliseconds(1), milliseconds(0));
  loop.check();
}

TEST(EmulatedLoop, a_slow_copy_is_h2d_idle_time) {
  const Loop loop("{type: emulated, step_ms: 1, h2d_latency_us: 10000}", milliseconds(0),
                  milliseconds(0));
  loop.check();
  EXPECT_GT(loop.idle(IdleCause::h2d), 0);
}

TEST(EmulatedLoop, other_host_work_is_host_idle_time) {
  const Loop loop("{type: emulated, step_ms: 1}", milliseconds(0), milliseconds(4));
  loop.check();
  EXPECT_GT(loop.idle(IdleCause::host), 0.02);  // 7 times 4 ms less a step of 1 ms
}

TEST(EmulatedLoop, all_causes_at_once_add_up) {
  const Loop loop(
      "{type: emulated, step_ms: 3, h2d_latency_us: 1500, queue_depth: 1, "
      "distribution: {type: normal, relative_stdev: 0.5}}",
      milliseconds(2), milliseconds(1));
  loop.check();
  EXPECT_DOUBLE_EQ(loop.measured.observed, loop.measured.busy + loop.idle(IdleCause::data) +
                                               loop.idle(IdleCause::h2d) +
                                               loop.idle(IdleCause::host));
}

}  // namespace
}  // namespace stoker
