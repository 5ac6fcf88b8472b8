#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/metrics/hub.h"
#include "io/metrics/sink.h"
#include "tests/support/temporary_directory.h"

namespace stoker {

// A run directory and a hub for sinks, which must go before it.
struct SinkRig {
  TemporaryDirectory run;
  Hub hub;
  std::vector<std::string> log;

  // make("{type: csv}")
  std::unique_ptr<MetricsSink> make(const std::string& yaml) {
    const Node node = parse_yaml(yaml, "test.yaml");
    return Registry<MetricsSink>::global()
        .parse(Section(node, "", MetricsSink::kKind, nullptr))
        .create({.run_dir = run.path(),
                 .log = [this](const std::string& line) { log.push_back(line); },
                 .hub = hub,
                 .stopping = [] { return false; }});
  }
};

// With everything that a report can hold; its numbers are exact in binary.
inline StepReport full_report(int64_t step) {
  StepReport r;
  r.step = step;
  r.steps_planned = 100;
  r.epoch = 2;
  r.images = 16 * step;
  r.wall_s = 12.5;
  r.window_s = 2;
  r.images_per_s = 80;
  r.segments = {{"data_wait", 0.5}, {"compute", 1.5}};
  r.io_share = 0.25;
  r.device_idle = 0.375;
  r.idle_by_cause = {{"data", 0.25}, {"host", 0.125}};
  r.loss = 4.5;
  r.learning_rate = 0.0625;
  r.eta_s = 18;
  r.top1 = 0.5;
  r.top5 = 0.75;
  r.checkpoints = CheckpointReport{.saved = 3,
                                   .failed = 1,
                                   .skipped = 2,
                                   .replaced = 4,
                                   .drained = 2,
                                   .drain_retries = 5,
                                   .drains_left = 1,
                                   .saved_step = step - 1,
                                   .durable_step = step - 3,
                                   .set_bytes = 4096,
                                   .degraded = true,
                                   .last_error = "write slow: No space left on device"};
  return r;
}

// Where nothing was measured.
inline StepReport bare_report(int64_t step) {
  StepReport r;
  r.step = step;
  return r;
}

}  // namespace stoker
