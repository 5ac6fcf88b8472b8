#include "app/tools/report/compare.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "io/core/error.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

using nlohmann::json;

struct Compare : testing::Test {
  TemporaryDirectory root;
  int made = 0;

  json summary = {{"status", "completed"},
                  {"device", {{"name", "GPU X"}, {"emulated", false}}},
                  {"conditions", {{"page_cache", "warm"}}},
                  {"tiers", {{"data", {{"type", "posix"}, {"emulated", false}}}}}};
  std::string config =
      "run: {name: n}\ndataset: {type: image_folder, storage: data}\nmodel: {type: alexnet}\n"
      "loader: {type: sync}\n";

  // Windows around `rate`; the first, which is none of them, is far off.
  RunFiles run(double rate, int windows = 30, uint64_t seed = 1) {
    const std::string name = fmt::format("run{}", made++);
    std::mt19937_64 random(seed + static_cast<uint64_t>(made));
    std::normal_distribution<double> noise(1, 0.02);
    std::string steps = "steps,wall_s,images_per_s,io_share\n10,9,1,0.9\n";
    for (int i = 0; i < windows; ++i) {
      steps += fmt::format("{},{},{},0.25\n", 20 + 10 * i, 11 + 2 * i, rate * noise(random));
    }
    root.write(name + "/summary.json", summary.dump());
    root.write(name + "/environment.json", R"({"kernel": "6.1", "command": ["x"]})");
    root.write(name + "/config.yaml", config);
    root.write(name + "/steps.csv", steps);
    return read_run(root / name);
  }
  Comparison between(const RunFiles& a, const RunFiles& b) {
    return compare({a}, {b}, compare_metric("images_per_s"));
  }
};

TEST_F(Compare, the_rates_of_many_ranks_are_summed_and_their_shares_averaged) {
  const RunFiles alone = run(100);
  const RunFiles first = run(60), other = run(60);
  const std::string rank = first.directory + "/rank-1";
  std::filesystem::create_directories(rank);
  const std::string steps = "/steps.csv";
  std::filesystem::copy(other.directory + steps, rank + steps);
  const Comparison both = between(alone, read_run(first.directory));
  const MetricComparison& rate = both.metrics.front();
  EXPECT_NEAR(rate.b, 120, 2);
  EXPECT_NEAR(rate.difference.value, 0.2, 0.02);
  EXPECT_NEAR(both.metrics[1].b, 0.25, 1e-9);  // io_share
  EXPECT_THAT(both.notes.front(), testing::HasSubstr("A ran on 1 and B on 2 ranks"));
}

TEST_F(Compare, equal_rates_are_the_same_and_others_are_different) {
  const RunFiles a = run(100);
  EXPECT_EQ(between(a, run(100)).verdict, CompareVerdict::same);
  const Comparison slower = between(a, run(80));
  EXPECT_EQ(slower.verdict, CompareVerdict::different);
  const MetricComparison& rate = slower.metrics.front();
  EXPECT_STREQ(rate.metric.name, "images_per_s");
  EXPECT_NEAR(rate.difference.value, -0.2, 0.02);
  EXPECT_LT(rate.difference.low, rate.difference.value);
  EXPECT_EQ(rate.values_a, 30u);  // without the first
}

TEST_F(Compare, shares_are_subtracted) {
  const Comparison found = compare({run(100)}, {run(100)}, compare_metric("io_share"));
  EXPECT_STREQ(found.metrics.front().metric.name, "io_share");
  EXPECT_DOUBLE_EQ(found.metrics.front().a, 0.25);
  EXPECT_DOUBLE_EQ(found.metrics.front().difference.value, 0);
}

// A median of windows would not see one stall in ten.
TEST_F(Compare, a_figure_is_that_of_the_windows_together) {
  const std::string steps = "wall_s,images_per_s\n1,1\n2,100\n3,100\n4,100\n5,100\n11,0\n";
  root.write("s/summary.json", summary.dump());
  root.write("s/environment.json", "{}");
  root.write("s/config.yaml", config);
  root.write("s/steps.csv", steps);
  const Comparison found = between(read_run(root / "s"), run(100));
  EXPECT_DOUBLE_EQ(found.metrics.front().a, 40);
  EXPECT_EQ(found.metrics.front().values_a, 5u);
}

TEST_F(Compare, the_threshold_is_missed_only_with_confidence) {
  const RunFiles a = run(100);
  EXPECT_FALSE(misses(between(a, run(97)), 0.05));
  EXPECT_TRUE(misses(between(a, run(80)), 0.05));
  EXPECT_FALSE(misses(between(a, run(120)), 0.05));  // faster
  EXPECT_FALSE(misses(between(a, run(80)), 0.5));
}

TEST_F(Compare, conditions_that_differ_are_named) {
  const RunFiles a = run(100);
  const auto reason = [&](const char* pointer, const json& value) {
    const json before = summary;
    summary[json::json_pointer(pointer)] = value;
    const Comparison found = between(a, run(100));
    summary = before;
    EXPECT_EQ(found.verdict, CompareVerdict::not_comparable) << pointer;
    EXPECT_TRUE(misses(found, 0.05));
    return found.reasons.empty() ? "" : found.reasons.front();
  };
  EXPECT_EQ(reason("/device/name", "GPU Y"), "another device: GPU X against GPU Y");
  EXPECT_EQ(reason("/device/emulated", true),
            "an emulated and a real device: real against emulated");
  EXPECT_EQ(reason("/tiers/data/emulated", true),
            "emulated and real storage: real against emulated");
  EXPECT_EQ(reason("/conditions/page_cache", "cold"),
            "another state of the page cache: warm against cold");
  EXPECT_NE(reason("/status", "failed").find("has not completed"), std::string::npos);
}

TEST_F(Compare, the_page_cache_is_no_condition_of_an_emulated_tier_that_kept_up) {
  config = "dataset: {type: image_folder, storage: data}\n";
  summary["tiers"]["data"] = {{"emulated", true}, {"overruns", 0}};
  const RunFiles warm = run(100);
  summary["conditions"]["page_cache"] = "mixed";
  EXPECT_EQ(between(warm, run(100)).verdict, CompareVerdict::same);
  summary["tiers"]["data"]["overruns"] = 3;
  EXPECT_EQ(between(warm, run(100)).reasons.front(),
            "another state of the page cache: of no effect against mixed");
}

// Shares of 0.001 % and 0.002 % differ surely, and for nobody.
TEST_F(Compare, a_difference_that_is_nothing_is_none) {
  const auto with_share = [&](const char* name, double share) {
    std::string steps = "steps,wall_s,images_per_s,io_share\n10,9,1,0.9\n";
    for (int i = 0; i < 30; ++i) {
      steps +=
          fmt::format("{},{},100,{}\n", 20 + 10 * i, 11 + 2 * i, share * (1 + 0.001 * (i % 3)));
    }
    root.write(std::string(name) + "/summary.json", summary.dump());
    root.write(std::string(name) + "/environment.json", "{}");
    root.write(std::string(name) + "/config.yaml", config);
    root.write(std::string(name) + "/steps.csv", steps);
    return read_run(root / name);
  };
  const RunFiles a = with_share("little", 1e-5), b = with_share("twice", 2e-5);
  EXPECT_EQ(compare({a}, {b}, compare_metric("io_share")).verdict, CompareVerdict::same);
  EXPECT_EQ(compare({a}, {with_share("much", 0.1)}, compare_metric("io_share")).verdict,
            CompareVerdict::different);
}

TEST_F(Compare, a_run_that_shared_an_emulated_tier_is_not_comparable) {
  const RunFiles a = run(100);
  summary["tiers"]["data"]["processes"] = 2;
  const Comparison found = between(a, run(185));
  EXPECT_EQ(found.verdict, CompareVerdict::not_comparable);
  EXPECT_THAT(found.reasons.front(),
              testing::HasSubstr("shared the emulated tier 'data' with 1 process of other runs"));
  summary["local_ranks"] = 2;
  EXPECT_EQ(between(a, run(100)).verdict, CompareVerdict::same);
}

TEST_F(Compare, another_data_set_or_model_is_not_comparable_but_another_tier_is) {
  const RunFiles a = run(100);
  config = "dataset: {type: image_folder, storage: slow}\nmodel: {type: alexnet}\n";
  EXPECT_EQ(between(a, run(100)).verdict, CompareVerdict::same);
  config = "dataset: {type: synthetic, storage: data}\nmodel: {type: resnet18}\n";
  const Comparison found = between(a, run(100));
  ASSERT_EQ(found.reasons.size(), 2u);
  EXPECT_EQ(found.reasons[0], "another data set: type image_folder against type synthetic");
  EXPECT_EQ(found.reasons[1], "another model: type alexnet against type resnet18");
}

TEST_F(Compare, too_few_windows_are_not_judged) {
  const Comparison found = between(run(100), run(100, 4));
  EXPECT_EQ(found.verdict, CompareVerdict::not_comparable);
  ASSERT_EQ(found.reasons.size(), 1u);
  EXPECT_EQ(found.reasons[0],
            "B has 4 windows of images_per_s beside the first: 5 are needed (lower "
            "metrics.every_steps)");
}

// The windows of each are close together, so they alone would make any two runs different.
TEST_F(Compare, three_runs_a_side_count_once_each) {
  const std::vector<RunFiles> a{run(100), run(110), run(90)};
  const std::vector<RunFiles> b{run(95), run(108), run(104)};
  const Comparison found = compare(a, b, compare_metric("images_per_s"));
  EXPECT_TRUE(found.by_runs);
  EXPECT_EQ(found.metrics.front().values_a, 3u);
  EXPECT_EQ(found.verdict, CompareVerdict::same);
  EXPECT_EQ(between(a[1], b[0]).verdict, CompareVerdict::different);
  EXPECT_NE(between(a[1], b[0]).notes.front().find("not independent"), std::string::npos);
}

TEST_F(Compare, says_what_differs_in_configuration_and_environment) {
  const RunFiles a = run(100);
  config =
      "run: {name: m}\ndataset: {type: image_folder, storage: data}\nmodel: {type: alexnet}\n"
      "loader: {type: threaded, workers: 4}\n";
  RunFiles b = run(100);
  b.environment["kernel"] = "6.2";
  b.environment["command"] = {"y"};
  const json found = to_json(between(a, b));
  EXPECT_EQ(found["config"], json::parse(R"([{"key": "loader.type", "a": "sync", "b": "threaded"},
                                             {"key": "loader.workers", "a": null, "b": "4"}])"));
  EXPECT_EQ(found["environment"], json::parse(R"([{"key": "kernel", "a": "6.1", "b": "6.2"}])"));
  EXPECT_EQ(found["verdict"], "same");
  EXPECT_EQ(found["sample"], "windows");
  const std::string text = to_text(between(a, b));
  EXPECT_NE(text.find("  loader.workers: - -> 4\n"), std::string::npos) << text;
}

TEST_F(Compare, an_unknown_metric_is_an_error_that_lists_them) {
  EXPECT_EQ(error_of([] { compare_metric("speed"); }),
            "--metric: 'speed': expected one of images_per_s, exposed_io_share, io_share, "
            "device.idle_share, "
            "segments_share.h2d, segments_share.compute, segments_share.allreduce, "
            "segments_share.checkpoint_stall");
}

}  // namespace
}  // namespace stoker
