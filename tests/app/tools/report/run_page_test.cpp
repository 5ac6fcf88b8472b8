
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/tools/report/report.h"
#include "io/core/error.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

using nlohmann::json;

struct RunPage : testing::Test {
  TemporaryDirectory root;
  RunFiles run(const std::string& name, const std::string& config, const json& summary) {
    if (!summary.is_null()) root.write(name + "/summary.json", summary.dump());
    root.write(name + "/environment.json", "{}");
    root.write(name + "/config.yaml", config);
    root.write(name + "/steps.csv", "steps,wall_s\n5,1.5\n");
    return read_run_so_far(root / name);
  }
};

TEST_F(RunPage, holds_what_the_run_left) {
  const json summary = {{"wall_s", 8.0},
                        {"segments_s", {{"checkpoint_stall", 2.0}}},
                        {"tiers", {{"a.b", {{"type", "posix"}}}}}};
  const json data = run_page_data({run("x", "run: {name: n}\n", summary)});
  EXPECT_EQ(data["kind"], "run");
  const json& one = data["runs"][0];
  EXPECT_EQ(one["name"], "n");
  EXPECT_EQ(one["label"], "n");
  json left = one["summary"];
  EXPECT_EQ(left["verdict"]["cause"], "unknown");
  EXPECT_EQ(left["judged"]["bounds"], (json{0.05, 0.2}));
  left.erase("verdict");
  left.erase("judged");
  EXPECT_EQ(left, summary);
  EXPECT_EQ(one["tiers"], json::parse(R"([{"tier": "a.b", "type": "posix"}])"));
  EXPECT_EQ(one["steps"], json::parse(R"({"steps": [5.0], "wall_s": [1.5]})"));
}

TEST_F(RunPage, a_run_without_a_summary_has_a_page_too) {
  const json data = run_page_data({run("x", "run: {name: n}\n", nullptr)});
  EXPECT_FALSE(data["runs"][0].contains("summary"));
  EXPECT_TRUE(data["runs"][0]["tiers"].empty());
}

TEST_F(RunPage, runs_side_by_side_have_labels_of_their_own_and_differences) {
  const RunFiles first = run("a/run", "loader: {type: sync}\n", nullptr);
  const RunFiles second = run("b/run", "loader: {type: threaded}\n", nullptr);
  const json data = run_page_data({first, second});
  EXPECT_EQ(data["kind"], "runs");
  EXPECT_EQ(data["runs"][0]["label"], "run 1");
  EXPECT_EQ(data["runs"][1]["label"], "run 2");
  EXPECT_EQ(data["differences"]["config"],
            json::parse(R"([{"key": "loader.type", "values": ["sync", "threaded"]}])"));
}

TEST_F(RunPage, no_text_ends_an_element) {
  const std::string hostile = "</script><!-- ";
  root.write("x/overrides", hostile + "\xff");
  const std::string page =
      report_html(run_page_data({run("x", "run: {}\n", {{"error", hostile}})}));
  EXPECT_EQ(page.find("</script><!--"), std::string::npos);
  EXPECT_NE(page.find("\\u003c/script>\\u003c!-- \\\\xff"), std::string::npos);
  EXPECT_EQ(page.find("{{data}}"), std::string::npos);
}

TEST(SweepPage, of_another_schema_is_an_error) {
  EXPECT_NE(error_of([] {
              sweep_page({json{{"schema_version", 2}}});
            }).find("expected schema_version 1"),
            std::string::npos);
  EXPECT_NE(sweep_page({json{{"schema_version", 1}}}).find("\"kind\":\"sweep\""),
            std::string::npos);
  const nlohmann::json good = {{"schema_version", 1}}, bad = {{"schema_version", 2}};
  EXPECT_NE(sweep_page({good, good}).find("\"kind\":\"sweeps\""), std::string::npos);
  EXPECT_THROW(sweep_page({good, bad}), Error);
}

TEST_F(RunPage, rows_are_merged_by_what_they_are) {
  root.write(
      "t.csv",
      "elapsed_s,io_share,segments_s.eval,loss\n1,10,0.25,5\n2,20,0.5,\n3,30,,\n4,40,1,3\n5,,,\n");
  const Table table = Table::read(root / "t.csv");
  EXPECT_EQ(thinned(table, 3), json::parse(R"({"elapsed_s": [2.0, 4.0, 5.0],
      "io_share": [15.0, 35.0, null], "segments_s.eval": [0.5, 1.0, null], "loss": [5.0, 3.0, null]})"));
  EXPECT_EQ(thinned(table, 5)["loss"], json::parse("[5.0, null, null, 3.0, null]"));
  EXPECT_EQ(thinned(Table(), 5), json::object());
}

}  // namespace
}  // namespace stoker
