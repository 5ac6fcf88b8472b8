#include "app/train/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "io/metrics/record/record_json.h"

namespace stoker {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

// A run whose device waited for copies, and never for late data.
TEST(Report, what_binds_a_run_is_said_once) {
  RunRecord record;
  record.run.phase = RunPhase::completed;
  record.run.totals.steps = 100;
  record.run.totals.wall_s = 10;
  record.run.totals.device = {10, 5, 0, {0, 5, 0, 0}};
  record.loaders.resize(2);
  nlohmann::json summary = to_json(record);
  summary["conditions"] = nlohmann::json::object();
  summary["skipped"] = nlohmann::json::object();
  EXPECT_EQ(summary["verdict"]["level"], "input_bound");
  summary["run_directory"] = "runs/trial";
  const std::string text = summary_text(summary);
  const std::string said =
      "\nVerdict: Input-bound: Copies to the device are not hidden behind its work: make them "
      "ahead. It costs 50 % of the device's time.\nWhy:     ";
  EXPECT_THAT(text, HasSubstr(said));
  EXPECT_THAT(text, HasSubstr("\nNext:    loader.type=device_prefetched "));
  EXPECT_THAT(text, EndsWith("\n         stoker report runs/trial\n"
                             "         stoker doctor runs/trial\nrun directory: runs/trial\n"));
  EXPECT_EQ(text.find("Input-bound"), text.rfind("Input-bound"));
  EXPECT_THAT(summary_text(summary, true), HasSubstr("\x1b[1;31mInput-bound:\x1b[0m Copies"));
}

TEST(Report, what_is_zero_is_left_out) {
  RunRecord record;
  record.loaders.resize(2);
  nlohmann::json summary = to_json(record);
  summary["conditions"] = nlohmann::json::object();
  summary["skipped"] = nlohmann::json::object();
  summary["segments_share"] = {{"compute", 0.99}, {"data_wait", 0.01}, {"paused", 0.0004}};
  EXPECT_THAT(summary_text(summary),
              HasSubstr("\n  time of the trainer: compute 99.0 %, data_wait 1.0 %\n"));
}

TEST(Report, no_bad_samples_are_no_file) {
  EXPECT_EQ(skipped_csv({}), "");
  EXPECT_EQ(tolerated_csv({}), "");
}

TEST(Report, tolerated_samples_are_a_row_each) {
  EXPECT_EQ(tolerated_csv({{"a/\"1\".jpg", {3, "bad Huffman code"}}, {"b", {1, "x, y"}}}),
            "sample,times,message\n"
            "\"a/\"\"1\"\".jpg\",3,\"bad Huffman code\"\n"
            "\"b\",1,\"x, y\"\n");
}

}  // namespace
}  // namespace stoker
