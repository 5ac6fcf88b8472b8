#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "io/core/error.h"
#include "tests/sinks/records.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

using nlohmann::json;

std::vector<json> objects(const SinkRig& setup) {
  std::vector<json> result;
  std::istringstream text(setup.run.read("steps.jsonl"));
  for (std::string line; std::getline(text, line);) result.push_back(json::parse(line));
  return result;
}

TEST(Jsonl, holds_the_figures_of_a_step_at_their_places) {
  SinkRig setup;
  write(*setup.make("{type: jsonl}"), full_record(10));
  const json found = objects(setup).at(0);
  const json expected = json::parse(R"({
      "steps": 10, "epoch": 2, "images": 160, "wall_s": 2.0, "images_per_s": 80.0, "loss": 4.5,
      "learning_rate": 0.0625, "exposed_io_share": 0.25, "io_share": 0.25,
      "device": {"idle_share": 0.375, "idle_share_by_cause":
                 {"data": 0.25, "h2d": 0.0, "checkpoint": 0.0, "peers": 0.0, "host": 0.125}},
      "evaluation": {"accuracy": {"top1": 0.5, "top5": 0.75}, "auc": 0.875},
      "checkpoints": {"saved": 3, "failed": 1, "skipped": 2, "drained": 2, "drains_left": 1,
                      "saved_step": 9, "durable_step": 7, "steps_at_risk": 3}})");
  for (const auto& [name, value] : expected.items()) EXPECT_EQ(found.at(name), value) << name;
  EXPECT_EQ(found["segments_s"]["compute"], 1.5);
  EXPECT_EQ(found["segments_share"]["compute"], 0.75);
  EXPECT_EQ(found.size(), expected.size() + 2);
}

TEST(Jsonl, leaves_out_what_was_not_measured) {
  SinkRig setup;
  const auto sink = setup.make("{type: jsonl}");
  RunRecord record = bare_record(1);
  record.checkpoints.report = CheckpointReport{};
  write(*sink, bare_record(0));
  write(*sink, record);
  const std::vector<json> found = objects(setup);
  ASSERT_EQ(found.size(), 2u);
  for (const char* key :
       {"loss", "evaluation", "device", "exposed_io_share", "io_share", "checkpoints"}) {
    EXPECT_FALSE(found[0].contains(key)) << key;
  }
  for (const char* key : {"saved_step", "durable_step", "steps_at_risk"}) {
    EXPECT_FALSE(found[1]["checkpoints"].contains(key)) << key;
  }
  EXPECT_EQ(found[1]["checkpoints"]["saved"], 0);
}

TEST(Jsonl, a_loss_that_is_no_number_is_null) {
  SinkRig setup;
  RunRecord record = bare_record(1);
  record.run.loss = std::numeric_limits<double>::quiet_NaN();
  write(*setup.make("{type: jsonl}"), record);
  EXPECT_TRUE(objects(setup).at(0).at("loss").is_null());
}

TEST(Jsonl, lines_are_in_the_file_before_the_next_report) {
  SinkRig setup;
  const auto sink = setup.make("{type: jsonl}");
  for (int64_t step = 1; step <= 3; ++step) {
    write(*sink, full_record(step));
    EXPECT_EQ(objects(setup).back()["steps"], step);
    EXPECT_EQ(setup.run.read("steps.jsonl").back(), '\n');
  }
}

TEST(Jsonl, does_not_overwrite_the_file_of_another_run) {
  SinkRig setup;
  setup.run.write("steps.jsonl", "precious\n");
  EXPECT_EQ(error_of([&] { setup.make("{type: jsonl}"); }),
            "create " + (setup.run / "steps.jsonl") + ": File exists");
  EXPECT_EQ(setup.run.read("steps.jsonl"), "precious\n");
}

}  // namespace
}  // namespace stoker
