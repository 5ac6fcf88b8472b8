#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/tools/sweep/directory.h"
#include "app/tools/sweep/results.h"
#include "app/tools/sweep/runner.h"
#include "tests/app/tools/sweep/sweeps.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string plan_error(const std::string& text) {
  const std::string what = error_of([&] { options_of(text); });
  const std::string path = ::testing::TempDir() + "sweep.yaml";
  return what.starts_with(path) ? what.substr(path.size()) : what;
}

std::vector<std::string> order(const SweepOptions& options) {
  std::vector<std::string> names;
  const SweepPlan plan = plan_of(options);
  for (const SweepRun& run : plan.runs) {
    names.push_back(text(options.matrix, plan.cells[run.cell].at) + " " +
                    std::to_string(run.repeat));
  }
  return names;
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
  EXPECT_EQ(plan_error(text + "repeats: 2\n"),
            ":4:1: unknown key 'repeats' (did you mean 'repeat'?)");
  EXPECT_EQ(plan_error(text + "exclude: [{tir: hdd}]\n"),
            ":4:12: exclude.0: 'tir' is no axis of the matrix (did you mean 'tier'?)");
  EXPECT_EQ(plan_error(text + "exclude: [{tier: hd}]\n"),
            ":4:18: exclude.0: 'tier' has no value 'hd' (did you mean 'hdd'?)");
  EXPECT_EQ(
      plan_error(text + "plots: [{title: x, x: workers, y: v}]\n"),
      ":4:23: plots.0: 'x' must be an axis of the matrix or time, got 'workers' (known: tier, w, "
      "time)");
  EXPECT_EQ(
      plan_error(text + "plots: [{title: x, x: w, y: v}]\n"),
      ":4:9: plots.0: axis 'tier' is neither x nor in series: name it there, or say one value "
      "of it in where");
  EXPECT_EQ(plan_error(text + "findings: [{name: f, value: v, of: {tier: hdd}, at_most: 1}]\n"),
            ":4:36: findings.0: 'of' must name one cell: it says no single value for 'w'");
  EXPECT_EQ(plan_error(text + "findings: [{name: f, value: v, of: {tier: hdd, w: 1}}]\n"),
            ":4:12: findings.0: give 'published', 'at_most' or 'at_least': a statement can fail");
  EXPECT_EQ(plan_error(text + "drop_first: true\n"),
            ":4:13: 'drop_first' leaves nothing: repeat at least twice");
  EXPECT_EQ(plan_error(text + "command: trian\n"),
            ":4:10: 'command' must be train, launch, simulate, or bench with its sub-command, got "
            "'trian' (did "
            "you mean 'train'?)");
  EXPECT_EQ(plan_error("name: t\nbase: b\nmatrix: {w: [1, 1]}\n"),
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

TEST(Figures, a_histogram_says_how_many_are_at_most_each_bound) {
  const json sizes = {{"bounds", {100, 1024}}, {"counts", {3, 4, 5}}, {"count", 12}};
  EXPECT_EQ(flatten({{"read", {{"sizes", sizes}, {"operations", 12}}}},
                    {{"small", "read.sizes.up_to_100 / read.operations"}}),
            (Figures{{"read.sizes.up_to_100", 3},
                     {"read.sizes.up_to_1024", 7},
                     {"read.sizes.count", 12},
                     {"read.operations", 12},
                     {"small", 0.25}}));
  const json seconds = {{"bounds", {1e-6, 2e-6}}, {"counts", {3, 4}}, {"p50", 1.5e-6}};
  EXPECT_EQ(flatten({{"wait_s", seconds}}, {}), (Figures{{"wait_s.p50", 1.5e-6}}));
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

// Two checkouts, one STOKER_SCRATCH, one name.
TEST(SweepScratch, another_sweep_of_its_name_has_another_folder_and_no_link_is_followed) {
  namespace fs = std::filesystem;
  const std::string place = ::testing::TempDir() + "scratches";
  const std::string own = place + "/stoker-sweep-same";
  fs::remove_all(place);
  fs::create_directories(place + "/project");
  std::ofstream(place + "/project/kept") << "of the user";
  setenv("STOKER_SCRATCH", place.c_str(), 1);
  auto first = std::make_unique<Scratch>("a", "same");
  setenv("STOKER_SCRATCH", place.c_str(), 1);
  auto second = std::make_unique<Scratch>("b", "same");
  first->clear();
  std::ofstream(own + "/step-10") << "saved";
  second->clear();
  EXPECT_STREQ(std::getenv("STOKER_SCRATCH"), (own + "-2").c_str());
  EXPECT_TRUE(fs::exists(own + "/step-10"));
  first->clear();
  EXPECT_TRUE(fs::is_empty(own));
  second.reset();
  first.reset();
  EXPECT_FALSE(fs::exists(own) || fs::exists(own + "-2"));
  fs::create_directory_symlink(place + "/project", own);
  setenv("STOKER_SCRATCH", place.c_str(), 1);
  Scratch("c", "same").clear();
  EXPECT_TRUE(fs::exists(place + "/project/kept"));
}

}  // namespace
}  // namespace stoker
