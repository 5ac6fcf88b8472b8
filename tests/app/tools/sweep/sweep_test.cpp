#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/tools/sweep/findings.h"
#include "app/tools/sweep/plots.h"
#include "app/tools/sweep/results.h"
#include "app/tools/sweep/runner.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kSweep = R"(
name: trial
base: base.yaml
set: [training.max_steps=5]
matrix:
  loader.workers: [1, 2]
  tier:
    hdd: [storage.data.profile=hdd]
    ssd: [storage.data.profile=ssd, --page-cache=cold]
repeat: 2
)";

SweepOptions options_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  const std::string path = ::testing::TempDir() + "sweep.yaml";
  std::ofstream(path) << text;
  return read_sweep(path, overrides);
}

std::string error(const std::string& text) {
  const std::string what = error_of([&] { options_of(text); });
  const std::string path = ::testing::TempDir() + "sweep.yaml";
  return what.starts_with(path) ? what.substr(path.size()) : what;
}

// The hash is the text of the overrides.
CellExperiment joined(const SweepCell& cell) {
  std::string text;
  for (const Word& one : cell.overrides) text += one.text + " ";
  return {text, {}};
}

SweepPlan plan_of(const SweepOptions& options) { return plan_sweep(options, joined); }

std::vector<std::string> order(const SweepOptions& options) {
  std::vector<std::string> names;
  const SweepPlan plan = plan_of(options);
  for (const SweepRun& run : plan.runs) {
    names.push_back(text(options.matrix, plan.cells[run.cell].at) + " " +
                    std::to_string(run.repeat));
  }
  return names;
}

// A row of a cell of kSweep.
SweepRow row(const SweepPlan& plan, size_t cell, int64_t repeat, Figures figures) {
  SweepRow made;
  made.cell = plan.cells[cell].at;
  made.hash = plan.cells[cell].hash;
  made.repeat = repeat;
  made.seconds = 10.0 * static_cast<double>(cell + 1);
  made.figures = std::move(figures);
  return made;
}

TEST(SweepPlan, cells_are_the_product_and_settings_go_where_they_belong) {
  const SweepOptions options = options_of(kSweep);
  const SweepPlan plan = plan_of(options);
  ASSERT_EQ(plan.cells.size(), 4u);
  EXPECT_EQ(plan.cells[1].at, (Coordinates{{"loader.workers", "1"}, {"tier", "ssd"}}));
  EXPECT_THAT(texts(plan.cells[1].overrides),
              ElementsAre("training.max_steps=5", "loader.workers=1", "storage.data.profile=ssd"));
  EXPECT_THAT(texts(plan.cells[1].arguments), ElementsAre("--page-cache=cold"));
  EXPECT_THAT(texts(plan.cells[0].arguments), IsEmpty());
  EXPECT_EQ(options.base.path, ::testing::TempDir() + "base.yaml");
}

TEST(SweepPlan, a_variant_may_name_another_command) {
  const SweepPlan plan =
      plan_of(options_of("name: t\nbase: b\ncommand: bench read\narguments: [--threads=1]\n"
                         "matrix: {how: {reads: [], IOR: [bench storage data, --op=read]}}\n"));
  EXPECT_THAT(command_words(plan.cells[0], "b.yaml"), ElementsAre("bench", "read", "b.yaml"));
  EXPECT_THAT(command_words(plan.cells[1], "b.yaml"),
              ElementsAre("bench", "storage", "b.yaml", "data"));
  EXPECT_THAT(texts(plan.cells[1].arguments), ElementsAre("--threads=1", "--op=read"));
  EXPECT_NE(plan.cells[0].hash, plan.cells[1].hash);
  EXPECT_EQ(commands_text(plan), "bench read, bench storage data");
}

TEST(SweepPlan, repetitions_are_interleaved_unless_told_otherwise) {
  const std::string no_tiers = "name: t\nbase: b\nrepeat: 2\nmatrix: {a: [1, 2]}\n";
  EXPECT_THAT(order(options_of(no_tiers)), ElementsAre("a=1 0", "a=2 0", "a=1 1", "a=2 1"));
  EXPECT_THAT(order(options_of(no_tiers + "interleave: false\n")),
              ElementsAre("a=1 0", "a=1 1", "a=2 0", "a=2 1"));
}

TEST(SweepPlan, exclusions_are_left_out_and_must_match_something) {
  const std::string text = kSweep;
  EXPECT_THAT(order(options_of(text + "exclude: [{tier: hdd, loader.workers: 2}, {tier: ssd}]\n",
                               {"repeat=1"})),
              ElementsAre("loader.workers=1 tier=hdd 0"));
  EXPECT_THAT(
      error_of([&] {
        plan_of(options_of(text + "exclude: [{tier: hdd}, {tier: hdd, loader.workers: 1}]\n"));
      }),
      HasSubstr("exclude: tier=hdd loader.workers=1 matches no cell that is not excluded"));
  EXPECT_THAT(error_of([&] { plan_of(options_of(text + "exclude: [{tier: [hdd, ssd]}]\n")); }),
              HasSubstr("every cell is excluded"));
}

TEST(SweepPlan, a_cell_that_is_wrong_is_named) {
  const auto refuse = [](const SweepCell& cell) -> CellExperiment {
    if (cell.overrides[1].text != "loader.workers=2") return {};
    throw Error(ExitCode::config, cell.overrides[1].value_at.text() + ": no such thing");
  };
  EXPECT_EQ(error_of([&] { plan_sweep(options_of(kSweep), refuse); }),
            ::testing::TempDir() +
                "sweep.yaml:6:23: no such thing (in the cell loader.workers=2 tier=hdd)");
}

TEST(SweepOptions, messages_have_places) {
  const std::string text = "name: t\nbase: b\nmatrix: {tier: [hdd, ssd], w: [1, 2]}\n";
  EXPECT_EQ(error(text + "repeats: 2\n"), ":4:1: unknown key 'repeats' (did you mean 'repeat'?)");
  EXPECT_EQ(error(text + "exclude: [{tir: hdd}]\n"),
            ":4:12: exclude.0: 'tir' is no axis of the matrix (did you mean 'tier'?)");
  EXPECT_EQ(error(text + "exclude: [{tier: hd}]\n"),
            ":4:18: exclude.0: 'tier' has no value 'hd' (did you mean 'hdd'?)");
  EXPECT_EQ(
      error(text + "plots: [{title: x, x: workers, y: v}]\n"),
      ":4:23: plots.0: 'x' must be an axis of the matrix or time, got 'workers' (known: tier, w, "
      "time)");
  EXPECT_EQ(
      error(text + "plots: [{title: x, x: w, y: v}]\n"),
      ":4:9: plots.0: axis 'tier' is neither x nor in series: name it there, or say one value "
      "of it in where");
  EXPECT_EQ(error(text + "findings: [{name: f, value: v, of: {tier: hdd}, at_most: 1}]\n"),
            ":4:36: findings.0: 'of' must name one cell: it says no single value for 'w'");
  EXPECT_EQ(error(text + "findings: [{name: f, value: v, of: {tier: hdd, w: 1}}]\n"),
            ":4:12: findings.0: give 'published', 'at_most' or 'at_least': a statement can fail");
  EXPECT_EQ(error(text + "drop_first: true\n"),
            ":4:13: 'drop_first' leaves nothing: repeat at least twice");
  EXPECT_EQ(
      error(text + "command: trian\n"),
      ":4:10: 'command' must be train, launch, or bench with its sub-command, got 'trian' (did "
      "you mean 'train'?)");
  EXPECT_EQ(error("name: t\nbase: b\nmatrix: {w: [1, 1]}\n"),
            ":3:13: matrix: 'w' has the value '1' twice");
}

TEST(SweepOptions, the_resolved_form_reads_back) {
  const std::string text =
      std::string(kSweep) +
      "plots: [{title: p, x: tier, y: v, series: loader.workers, "
      "relative_to: {tier: hdd}, published: [{points: [[hdd, 1.5]], source: s}]}]\n"
      "findings: [{name: f, value: v, among: {tier: [hdd, ssd]}, at_most: 0.5, "
      "published: 2, tolerance: 15%}]\n";
  const SweepOptions options = options_of(text);
  const std::string resolved = to_yaml(dump_struct(options));
  const SweepOptions again = options_of(resolved);
  EXPECT_EQ(to_yaml(dump_struct(again)), resolved);
  EXPECT_EQ(plan_of(again).cells[3].hash, plan_of(options).cells[3].hash);
}

TEST(Figures, numbers_by_their_place) {
  const json output = {{"schema_version", 1},
                       {"wall_s", 10},
                       {"segments_s", {{"compute", 4}, {"data_wait", 6}}},
                       {"emulated", true},
                       {"conditions", {{"threads", 4}}},
                       {"rates", {1, 2, 3}},
                       {"save_s", {{"min", 1}, {"median", 2}, {"max", 3}}},
                       {"evaluations", {{{"top1", 0.5}}, {{"top1", 0.75}}}}};
  const Figures figures = flatten(
      output,
      {{"best", "evaluations.1.top1"}, {"share", "segments_s.compute / wall_s"}, {"no", "a.b"}});
  EXPECT_EQ(figures, (Figures{{"wall_s", 10},
                              {"segments_s.compute", 4},
                              {"segments_s.data_wait", 6},
                              {"save_s", 2},
                              {"save_s.min", 1},
                              {"save_s.median", 2},
                              {"save_s.max", 3},
                              {"evaluations.0.top1", 0.5},
                              {"evaluations.1.top1", 0.75},
                              {"best", 0.75},
                              {"share", 0.4}}));
}

TEST(Figures, results_of_benchmarks_have_the_name_of_what_differs) {
  const json one = {{"results", {{{"threads", 4}, {"images_per_s", {{"median", 9}}}}}}};
  EXPECT_EQ(flatten(one, {}).at("images_per_s"), 9);
  const json two = {{"results", {{{"threads", 1}, {"rate", 3}}, {{"threads", 8}, {"rate", 5}}}}};
  EXPECT_EQ(flatten(two, {}).at("results.8.rate"), 5);
  EXPECT_EQ(figure_text("images_per_s", 1234.4), "1,234 images/s");
  EXPECT_EQ(figure_text("images_per_s.median", -1234567), "images_per_s.median -1,234,567");
  EXPECT_EQ(figure_text("io_share", 0.1249), "I/O share 12.5 %");
}

TEST(SweepResults, what_is_written_is_read_back_and_compared_with_the_plan) {
  const SweepOptions options = options_of(kSweep);
  const SweepPlan plan = plan_of(options);
  SweepResults results;
  results.machine = {{"cpu", "x"}};
  results.started = "then";
  results.put(row(plan, 1, 0, {{"v", 1}}));
  results.put(row(plan, 1, 0, {{"v", 2}}));
  SweepRow failed = row(plan, 0, 1, {});
  failed.exit_code = 4;
  failed.error = "error: bad, \"bad\"";
  results.put(failed);
  const std::string path = ::testing::TempDir() + "results.json";
  std::ofstream(path) << results_json(options, plan, results, "").dump();
  const SweepResults again = read_results(path);
  ASSERT_EQ(again.rows.size(), 2u);
  EXPECT_EQ(again.rows[0].figures.at("v"), 2);
  EXPECT_TRUE(again.rows[0].ok());
  EXPECT_EQ(again.rows[1].error, failed.error);
  EXPECT_FALSE(again.rows[1].ok());
  EXPECT_EQ(definition_change(options, plan, again), "");
  EXPECT_EQ(results_csv(options, again),
            "loader.workers,tier,repeat,status,exit_code,seconds,v\n"
            "1,ssd,0,ok,0,20.000,2\n1,hdd,1,failed,4,10.000,\n");
}

TEST(SweepResults, names_with_any_end_of_a_line_are_quoted) {
  const SweepOptions options = options_of(kSweep);
  const SweepPlan plan = plan_of(options);
  SweepResults results;
  results.put(row(plan, 0, 0, {{"a\rb", 1}, {"c\nd", 2}}));
  const std::string csv = results_csv(options, results);
  EXPECT_EQ(csv.substr(0, csv.find("\n1,")),
            "loader.workers,tier,repeat,status,exit_code,seconds,\"a\rb\",\"c\nd\"");
}

TEST(SweepResults, another_definition_is_noticed) {
  const SweepOptions options = options_of(kSweep);
  const SweepPlan plan = plan_of(options);
  SweepResults results;
  results.put(row(plan, 3, 1, {}));
  const auto change = [&](const std::vector<std::string>& overrides) {
    const SweepOptions other = options_of(kSweep, overrides);
    return definition_change(other, plan_of(other), results);
  };
  EXPECT_EQ(change({"repeat=5"}), "");
  EXPECT_EQ(change({"matrix.tier.optane=[storage.data.profile=optane]"}), "");
  EXPECT_EQ(change({"repeat=1"}), "loader.workers=2 tier=ssd was repeated more often");
  EXPECT_EQ(change({"set=[training.max_steps=6]"}),
            "loader.workers=2 tier=ssd was run with other settings");
  EXPECT_EQ(change({"matrix={tier: [ssd]}"}),
            "loader.workers=2 tier=ssd is no cell of it any more");
}

TEST(SweepResults, time_that_is_left_is_that_of_the_same_cell) {
  const SweepOptions options = options_of(kSweep);
  const SweepPlan plan = plan_of(options);
  SweepResults results;
  EXPECT_LT(seconds_left(plan, results), 0);
  results.put(row(plan, 0, 0, {}));  // 10 s
  EXPECT_DOUBLE_EQ(seconds_left(plan, results), 70);
  results.put(row(plan, 3, 0, {}));  // 40 s; the four others take the mean, 25 s
  EXPECT_DOUBLE_EQ(seconds_left(plan, results), 10 + 40 + 4 * 25);
}

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
