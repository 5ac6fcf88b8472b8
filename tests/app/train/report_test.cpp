#include "app/train/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "io/metrics/record/record_json.h"

namespace stoker {
namespace {

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
  const std::string text = summary_text(summary);
  const std::string said =
      "  Input-bound: Copies to the device are not hidden behind its work: make them ahead. It "
      "costs 50 % of the device's time.\n  try: loader.type=device_prefetched ";
  EXPECT_THAT(text, HasSubstr(said));
  EXPECT_EQ(text.find("Input-bound"), text.rfind("Input-bound"));
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
