#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "io/core/error.h"
#include "tests/sinks/rig.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

using nlohmann::json;

std::vector<json> objects(const SinkRig& rig) {
  std::vector<json> result;
  std::istringstream text(rig.run.read("steps.jsonl"));
  for (std::string line; std::getline(text, line);) result.push_back(json::parse(line));
  return result;
}

TEST(Jsonl, holds_every_field_of_a_report) {
  SinkRig rig;
  rig.make("{type: jsonl}")->write(full_report(10));
  const json expected = {{"step", 10},
                         {"steps_planned", 100},
                         {"epoch", 2},
                         {"images", 160},
                         {"wall_s", 12.5},
                         {"window_s", 2.0},
                         {"eta_s", 18.0},
                         {"images_per_s", 80.0},
                         {"loss", 4.5},
                         {"learning_rate", 0.0625},
                         {"top1", 0.5},
                         {"top5", 0.75},
                         {"io_share", 0.25},
                         {"segments_s", {{"data_wait", 0.5}, {"compute", 1.5}}},
                         {"device_idle", 0.375},
                         {"idle_by_cause", {{"data", 0.25}, {"host", 0.125}}},
                         {"checkpoints",
                          {{"saved", 3},
                           {"failed", 1},
                           {"skipped", 2},
                           {"replaced", 4},
                           {"drained", 2},
                           {"drain_retries", 5},
                           {"drains_left", 1},
                           {"saved_step", 9},
                           {"durable_step", 7},
                           {"set_bytes", 4096},
                           {"degraded", true},
                           {"last_error", "write slow: No space left on device"}}}};
  EXPECT_EQ(objects(rig), std::vector{expected});
}

TEST(Jsonl, leaves_out_what_was_not_measured) {
  SinkRig rig;
  const auto sink = rig.make("{type: jsonl}");
  StepReport report = bare_report(1);
  report.checkpoints = CheckpointReport{};
  sink->write(bare_report(0));
  sink->write(report);
  const std::vector<json> found = objects(rig);
  ASSERT_EQ(found.size(), 2u);
  for (const char* key : {"loss", "top1", "top5", "device_idle", "idle_by_cause", "checkpoints"}) {
    EXPECT_FALSE(found[0].contains(key)) << key;
  }
  for (const char* key : {"saved_step", "durable_step", "last_error"}) {
    EXPECT_FALSE(found[1]["checkpoints"].contains(key)) << key;
  }
  EXPECT_EQ(found[1]["checkpoints"]["saved"], 0);
}

TEST(Jsonl, a_loss_that_is_no_number_is_null) {
  SinkRig rig;
  StepReport report = bare_report(1);
  report.loss = std::numeric_limits<double>::quiet_NaN();
  rig.make("{type: jsonl}")->write(report);
  EXPECT_TRUE(objects(rig).at(0).at("loss").is_null());
}

TEST(Jsonl, a_message_that_is_not_utf8_is_one_line_of_json) {
  SinkRig rig;
  StepReport report = full_report(1);
  report.checkpoints->last_error = "write \xff\xfe\n: \"no\"";
  rig.make("{type: jsonl}")->write(report);
  EXPECT_EQ(objects(rig).at(0)["checkpoints"]["last_error"], "write \ufffd\ufffd\n: \"no\"");
}

TEST(Jsonl, lines_are_in_the_file_before_the_next_report) {
  SinkRig rig;
  const auto sink = rig.make("{type: jsonl}");
  for (int64_t step = 1; step <= 3; ++step) {
    sink->write(full_report(step));
    EXPECT_EQ(objects(rig).back()["step"], step);
    EXPECT_EQ(rig.run.read("steps.jsonl").back(), '\n');
  }
}

TEST(Jsonl, does_not_overwrite_the_file_of_another_run) {
  SinkRig rig;
  rig.run.write("steps.jsonl", "precious\n");
  EXPECT_EQ(error_of([&] { rig.make("{type: jsonl}"); }),
            "create " + (rig.run / "steps.jsonl") + ": File exists");
  EXPECT_EQ(rig.run.read("steps.jsonl"), "precious\n");
}

}  // namespace
}  // namespace stoker
