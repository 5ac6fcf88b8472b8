#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "app/tools/doctor/doctor.h"
#include "app/tools/report/report.h"
#include "app/train/report.h"
#include "io/core/text/json.h"

namespace stoker {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// What real runs left (one_verdict_runs_test.py --record): a line of JSON each.
std::vector<json> recorded() {
  std::ifstream file(STOKER_SOURCE_DIR "/tests/app/tools/report/recorded_runs.jsonl");
  std::vector<json> runs;
  for (std::string line; std::getline(file, line);) runs.push_back(parse_json(line));
  return runs;
}

RunFiles files_of(const json& one) {
  RunFiles run;
  run.directory = "recorded";
  run.summary = one["summary"];
  run.environment = one["environment"];
  run.config = one["config"];
  return run;
}

TEST(OneVerdict, thirty_recorded_runs_have_the_same_words_in_all_four_places) {
  const std::vector<json> runs = recorded();
  ASSERT_GE(runs.size(), 30u);
  std::set<std::string> causes;
  for (const json& one : runs) {
    SCOPED_TRACE(one["name"]);
    RunFiles run = files_of(one);
    const Verdict verdict = verdict_of(run);
    causes.insert(verdict.cause);
    // What to_json() of a record puts into summary.json and sends to the live page.
    const json page = judge(run.summary, parse_yaml(run.config, "config.yaml"));
    EXPECT_EQ(page, json(verdict));
    EXPECT_EQ(run_page_data({run})["runs"][0]["summary"]["verdict"], page);
    run.summary["verdict"] = page;
    const std::string end = summary_text(run.summary), doctor = to_text(verdict);
    std::vector<std::string> words = page["evidence"];
    words.push_back(page["title"]);
    words.push_back(page["text"]);
    for (const std::string& text : words) {
      EXPECT_THAT(end, HasSubstr(text));
      EXPECT_THAT(doctor, HasSubstr(text));
    }
    EXPECT_THAT(end, HasSubstr(page["next"].get<std::string>()));
  }
  for (const char* cause :
       {"compute", "storage_latency", "storage_bandwidth", "decode", "no_prefetch", "h2d_copy",
        "cold_cache", "shared_tier", "checkpoint_write", "unknown"}) {
    EXPECT_EQ(causes.count(cause), 1u) << cause;
  }
}

}  // namespace
}  // namespace stoker
