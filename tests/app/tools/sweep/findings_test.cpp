#include "app/tools/sweep/findings.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/app/tools/sweep/sweeps.h"
#include "tests/support/errors.h"

// Statements about medians, and the data of plots.

namespace stoker {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Judged : public ::testing::Test {
 protected:
  void measure(const std::string& sweep_end) {
    options_ = options_of(std::string(kSweep) + sweep_end);
    plan_ = plan_of(options_);
    // Cells in order: 1 hdd, 1 ssd, 2 hdd, 2 ssd.
    const std::vector<std::vector<double>> figures = {{10, 20}, {30, 50}, {40, 60}, {99, 101}};
    for (size_t cell = 0; cell < figures.size(); ++cell) {
      for (size_t i = 0; i < 2; ++i) {
        results_.put(row(plan_, cell, static_cast<int64_t>(i), {{"v", figures[cell][i]}}));
      }
    }
  }
  SweepFinding only(const std::string& finding) {
    measure("findings: [{name: f, value: v, " + finding + "}]\n");
    return judge(options_, plan_, results_).at(0);
  }
  SweepOptions options_;
  SweepPlan plan_;
  SweepResults results_;
};

constexpr const char* kRatio =
    "of: {tier: hdd, loader.workers: 2}, over: {tier: hdd, loader.workers: 1}";

TEST_F(Judged, ratio) {
  const SweepFinding finding = only(std::string(kRatio) + ", published: 3, tolerance: 15%");
  EXPECT_DOUBLE_EQ(finding.measured->value, 50.0 / 15);
  EXPECT_DOUBLE_EQ(finding.measured->low, 40.0 / 20);
  EXPECT_DOUBLE_EQ(finding.measured->high, 60.0 / 10);
  EXPECT_EQ(finding.verdict, FindingVerdict::within);
  EXPECT_EQ(only(std::string(kRatio) + ", published: 3, tolerance: 11%").verdict,
            FindingVerdict::outside);
}

TEST_F(Judged, what_was_put_in_is_no_finding) {
  EXPECT_EQ(only(std::string(kRatio) + ", published: 9, fitted: queue_depth").verdict,
            FindingVerdict::put_in);
}

TEST_F(Judged, a_short_form_is_not_judged) {
  measure("short: {set: [training.max_steps=1]}\nfindings: [{name: f, value: v, " +
          std::string(kRatio) + ", at_least: 99, note: \"{v} of {w} x\"}]\n");
  EXPECT_EQ(judge(options_, plan_, results_).at(0).verdict, FindingVerdict::outside);
  options_.shorten();
  EXPECT_EQ(options_.repeat, 1);
  EXPECT_EQ(options_.set.back().text, "training.max_steps=1");
  const SweepFinding finding = judge(options_, plan_, results_).at(0);
  EXPECT_EQ(finding.verdict, FindingVerdict::shortened);
  EXPECT_EQ(finding.statement.note, "10 to 40 of an unknown number of x");
}

// "The same with 1 thread" has to stand behind what it is the same as.
TEST_F(Judged, findings_keep_the_order_of_the_file) {
  const std::string of = ", value: v, of: {tier: hdd, loader.workers: 1}, ";
  measure("findings: [{name: put in" + of + "at_most: 1, fitted: x}, {name: holds" + of +
          "at_most: 99}, {name: fails" + of + "at_most: 1}]\n");
  std::vector<std::string> names;
  for (const SweepFinding& one : judge(options_, plan_, results_)) {
    names.push_back(one.statement.name);
  }
  EXPECT_THAT(names, ElementsAre("put in", "holds", "fails"));
}

TEST_F(Judged, value_with_limits_and_without_the_cost_of_nothing) {
  EXPECT_EQ(only("of: {tier: ssd, loader.workers: 2}, at_most: 100").verdict,
            FindingVerdict::within);
  EXPECT_EQ(only("of: {tier: ssd, loader.workers: 2}, at_least: 100.1").verdict,
            FindingVerdict::outside);
  const SweepFinding less = only(
      "of: {tier: ssd, loader.workers: 2}, over: {tier: hdd, loader.workers: 2}, less: {tier: hdd, "
      "loader.workers: 1}, at_least: 1");
  EXPECT_DOUBLE_EQ(less.measured->value, 85.0 / 35);
  EXPECT_DOUBLE_EQ(less.measured->low, (99.0 - 20) / (60 - 10));
  EXPECT_DOUBLE_EQ(less.measured->high, (101.0 - 10) / (40 - 20));
}

TEST_F(Judged, spread_over_cells) {
  const SweepFinding finding = only("among: {loader.workers: 2}, at_most: 1");
  EXPECT_DOUBLE_EQ(finding.measured->value, 1);
  EXPECT_DOUBLE_EQ(finding.measured->low, 99.0 / 60 - 1);
  EXPECT_DOUBLE_EQ(finding.measured->high, 101.0 / 40 - 1);
  EXPECT_EQ(finding.verdict, FindingVerdict::within);
}

TEST_F(Judged, what_no_run_has_is_not_measured) {
  measure("findings: [{name: f, value: w, among: {loader.workers: 2}, at_most: 1}]\n");
  const json value = finding_json(judge(options_, plan_, results_).at(0));
  EXPECT_EQ(value["verdict"], "not measured");
  EXPECT_FALSE(value.contains("measured"));
}

TEST_F(Judged, plots_have_a_series_per_value_and_may_be_relative) {
  measure(
      "drop_first: true\nplots: [{title: p, x: loader.workers, y: v, series: tier, relative_to: "
      "{loader.workers: 1}}]\n");
  const json plot = plot_json(options_, options_.plots[0], plan_, results_, "");
  ASSERT_EQ(plot["data"].size(), 2u);
  EXPECT_EQ(plot["data"][0]["series"], "hdd");
  const json& point = plot["data"][0]["points"][1];
  EXPECT_EQ(point["x"], 2);
  EXPECT_DOUBLE_EQ(point["median"], 60.0 / 20);
  EXPECT_EQ(point["n"], 1);
  EXPECT_DOUBLE_EQ(plot["data"][1]["points"][1]["median"], 101.0 / 50);
}

TEST_F(Judged, a_stack_has_a_series_for_each_part_of_its_figure) {
  measure(
      "plots: [{title: p, x: loader.workers, y: time, stack: [read, sync], where: {tier: hdd}}]\n");
  results_.rows[0].figures["time.read"] = 3;
  results_.rows[0].figures["time.sync"] = 1;
  const json plot = plot_json(options_, options_.plots[0], plan_, results_, "");
  ASSERT_EQ(plot["data"].size(), 2u);
  EXPECT_EQ(plot["data"][0]["series"], "read");
  EXPECT_EQ(plot["data"][0]["points"][0]["median"], 3);
  EXPECT_EQ(plot["data"][1]["series"], "sync");
  EXPECT_THAT(main_figures(options_), ElementsAre("time.read", "time.sync"));
}

TEST_F(Judged, a_plot_over_time_shows_the_first_run_of_each_cell) {
  measure("plots: [{title: p, x: time, y: data.read, series: [tier, loader.workers]}]\n");
  results_.rows[0].directory = "runs/a";
  results_.rows[1].directory = "runs/b";
  const std::string directory = ::testing::TempDir() + "sweep";
  std::filesystem::create_directories(directory + "/runs/a");
  std::ofstream(directory + "/runs/a/timeline.csv") << "elapsed_s,data.read\n1,5\n2,\n3,7\n";
  const json plot = plot_json(options_, options_.plots[0], plan_, results_, directory);
  ASSERT_EQ(plot["data"].size(), 1u);
  EXPECT_EQ(plot["data"][0]["series"], "hdd, 1");
  ASSERT_EQ(plot["data"][0]["points"].size(), 2u);
  EXPECT_EQ(plot["data"][0]["points"][1]["x"], 3);
  EXPECT_EQ(plot["data"][0]["points"][1]["median"], 7);
  EXPECT_THAT(main_figures(options_), ElementsAre("images_per_s", "exposed_io_share"));
}

}  // namespace
}  // namespace stoker
