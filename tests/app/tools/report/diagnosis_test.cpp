#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/tools/report/run_files.h"

namespace stoker {
namespace {

constexpr const char* kConfig = R"(
device: {type: cpu}
storage: {data: {type: posix, root: x}, slow: {type: posix, root: y}}
dataset: {type: image_folder, storage: data}
decoder: {type: turbojpeg, size: 224, scaled_decode: false}
loader: {type: prefetched, workers: 4, batch_size: 32, prefetch_batches: 2}
checkpoint: {type: direct, slow: slow, every_steps: 10, snapshot: sync}
evaluation: {enabled: true}
metrics: {every_steps: 10}
)";

// 100 steps in 10 s, the device busy for 4 s of them and waiting for data in the others.
RunFiles input_bound() {
  RunFiles run;
  run.config = kConfig;
  run.environment = {{"cpu", {{"cores", 4}}}};
  run.summary = nlohmann::json::parse(R"({
    "status": "completed", "steps": 100, "images": 3200, "wall_s": 10,
    "segments_s": {"data_wait": 6, "compute": 4}, "first_batch_s": 0.1,
    "device": {"observed_s": 10, "busy_s": 4, "idle_s": {"data": 6}},
    "loaders": {"train": {"read_bytes": 320000000,
                          "stages": {"read": {"duration_s": {"count": 3200, "sum": 1}},
                                     "decode": {"duration_s": {"count": 3200, "sum": 38}},
                                     "wait": {"duration_s": {"count": 0, "sum": 0}}}}},
    "process": {"cores": 3.9}, "system": {"busy_cores": 3.95}})");
  return run;
}

TEST(VerdictOfARun, headspace_is_a_bound) {
  const Verdict found = verdict_of(input_bound());
  EXPECT_NE(std::ranges::find(found.evidence,
                              "headspace: at most 328 images/s, by 4 workers that never paused and "
                              "did not hold each other up at the storage or the cores"),
            found.evidence.end());
  EXPECT_EQ(title_of(std::string("input_bound")), "Input-bound");
  EXPECT_EQ(title_of("2 of 3 within"), "2 of 3 within");
}

TEST(VerdictOfARun, a_run_that_failed_or_is_too_short_is_not_judged) {
  RunFiles run = input_bound();
  run.summary["status"] = "failed";
  run.summary["error"] = "disk full";
  EXPECT_EQ(verdict_of(run).text, "The run failed: disk full");
  run = input_bound();
  run.summary["steps"] = 3;
  EXPECT_EQ(verdict_of(run).level, Verdict::Level::unknown);
  EXPECT_EQ(verdict_of(run).cause, "unknown");
  run = input_bound();
  run.summary["first_batch_s"] = 5;
  EXPECT_NE(verdict_of(run).text.find("filling of the pipeline"), std::string::npos);
}

TEST(VerdictOfARun, decoding_on_busy_cores_wants_less_work) {
  const Verdict found = verdict_of(input_bound());
  EXPECT_EQ(found.level, Verdict::Level::input_bound);
  ASSERT_EQ(found.cause, "decode");
  EXPECT_NEAR(found.findings.front().cost, 0.565, 0.001);
  EXPECT_EQ(found.findings.front().overrides,
            std::vector<std::string>{"decoder.scaled_decode=true"});
}

TEST(VerdictOfARun, decoding_beside_idle_cores_wants_workers) {
  RunFiles run = input_bound();
  run.environment["cpu"]["cores"] = 16;
  run.summary["system"]["cores"] = 16;
  EXPECT_EQ(verdict_of(run).findings.front().overrides,
            std::vector<std::string>{"loader.workers=16"});
}

TEST(VerdictOfARun, other_processes_are_blamed_where_they_hold_the_cores) {
  RunFiles run = input_bound();
  run.summary["process"]["cores"] = 2;
  run.summary["system"]["busy_cores"] = 4;
  run.summary["system"]["cores"] = 4;
  EXPECT_EQ(verdict_of(run).cause, "cpu_contention");
  run.summary["device"]["idle_s"]["data"] = 0;  // computing on the CPU is disturbed, too
  run.summary["device"]["busy_s"] = 10;
  const Verdict disturbed = verdict_of(run);
  EXPECT_EQ(disturbed.cause, "cpu_contention");
  // A share of the cores is not a share of the device's time, and no gain is promised from it.
  EXPECT_THAT(disturbed.text, testing::EndsWith(" % of the processor time that was used."));
  EXPECT_EQ(disturbed.findings.front().gain(), 0);
  run.summary["device"]["timing_method"] = "events";
  EXPECT_EQ(verdict_of(run).cause, "compute");
}

// A run that others starve of cores uses few of them: that is no room for more workers.
TEST(VerdictOfARun, a_starved_run_is_told_who_has_the_cores_and_not_to_want_more_workers) {
  RunFiles run = input_bound();
  run.summary["process"]["cores"] = 0.6;
  run.summary["system"] = {{"busy_cores", 3.9}, {"cores", 4}};
  const Verdict found = verdict_of(run);
  EXPECT_EQ(found.cause, "cpu_contention");
  EXPECT_EQ(found.level, Verdict::Level::contended);
  EXPECT_TRUE(found.findings.front().overrides.empty());
}

// Decoders that sleep, or wait for a tier, want no core, whatever others do.
TEST(VerdictOfARun, busy_neighbours_are_not_blamed_where_nobody_waits_for_a_core) {
  RunFiles run = input_bound();
  run.environment["cpu"]["cores"] = 16;
  run.summary["process"] = {{"cores", 0.2}, {"waiting_threads", 0.1}};
  run.summary["system"] = {{"busy_cores", 12.2}, {"cores", 16}};
  EXPECT_EQ(verdict_of(run).findings.front().overrides,
            std::vector<std::string>{"loader.workers=16"});
}

// Two cores of a machine with 64: what others do elsewhere takes nothing from them.
TEST(VerdictOfARun, a_limit_of_cores_is_not_mistaken_for_other_processes) {
  RunFiles run = input_bound();
  run.environment["cpu"]["cores"] = 2;
  run.summary["process"] = {{"cores", 1.9}, {"usable_cores", 2}};
  run.summary["system"] = {{"busy_cores", 30}, {"cores", 64}};
  EXPECT_EQ(verdict_of(run).cause, "decode");
  EXPECT_EQ(verdict_of(run).findings.front().overrides,
            std::vector<std::string>{"decoder.scaled_decode=true"});
}

TEST(VerdictOfARun, a_cold_first_epoch_is_told_from_slow_storage) {
  RunFiles run = input_bound();
  run.summary["loaders"]["train"]["stages"]["read"]["duration_s"]["sum"] = 38;
  run.summary["loaders"]["train"]["stages"]["decode"]["duration_s"]["sum"] = 1;
  EXPECT_EQ(verdict_of(run).cause, "storage_latency");
  run.summary["first_epoch"] = {{"steps", 50}, {"data_wait_s", 5.8}};
  const Verdict cold = verdict_of(run);
  EXPECT_EQ(cold.cause, "cold_cache");
  EXPECT_TRUE(cold.findings.front().overrides.empty());
  EXPECT_FALSE(cold.findings.front().advice.empty());
}

// Reads that take most of the workers' time, of the tier that `config` makes of "posix, root: x".
RunFiles reading(const std::string& tier, const std::string& reads) {
  RunFiles run = input_bound();
  const std::string was = "{type: posix, root: x}";
  run.config.replace(run.config.find(was), was.size(), tier);
  run.summary["loaders"]["train"]["stages"]["read"]["duration_s"]["sum"] = 38;
  run.summary["loaders"]["train"]["stages"]["decode"]["duration_s"]["sum"] = 1;
  run.summary["tiers"] = nlohmann::json::parse(reads);
  return run;
}

TEST(VerdictOfARun, every_profile_of_an_emulated_tier_is_known) {
  // 32 MB/s, four reads under way.
  const std::string reads =
      R"({"data": {"read": {"duration_s": {"sum": 38}, "bytes": 320000000, "busy_s": 10}}})";
  const std::string inner = ", inner: {type: posix, root: x}}";
  EXPECT_EQ(
      verdict_of(reading("{type: emulated, profile: nfs, read_mb_per_s: 40" + inner, reads)).cause,
      "storage_bandwidth");
  for (const char* profile : {"hdd", "nfs", "s3-like"}) {
    const Verdict found =
        verdict_of(reading(std::string("{type: emulated, profile: ") + profile + inner, reads));
    EXPECT_EQ(found.cause, "storage_latency") << profile;
    EXPECT_NE(found.findings.front().evidence.back().find("data (emulated) can do "),
              std::string::npos)
        << profile;
  }
}

TEST(VerdictOfARun, the_tier_is_found_behind_copies_and_decoded_pixels) {
  RunFiles run = reading(
      "{type: cached, in: {type: memory}, inner: {type: emulated, read_mb_per_s: 40, "
      "write_mb_per_s: 40, inner: {type: posix, root: x}}}",
      R"({"data": {"read": {"duration_s": {"sum": 32}, "bytes": 320000000, "busy_s": 10}},
          "data.inner": {"read": {"duration_s": {"sum": 32}, "bytes": 80000000, "busy_s": 2.1}}})");
  const std::string was = "{type: image_folder, storage: data}";
  run.config.replace(run.config.find(was), was.size(), "{type: decoded, inner: " + was + "}");
  const Verdict found = verdict_of(run);
  EXPECT_EQ(found.cause, "storage_bandwidth");
  EXPECT_NE(found.findings.front().evidence.front().find("tier 'data.inner' gave 38.1 MB/s"),
            std::string::npos);
  EXPECT_TRUE(found.findings.front().overrides.empty());  // copies are there already
}

TEST(VerdictOfARun, an_emulated_tier_that_fell_behind_gave_all_it_could) {
  const std::string tier =
      "{type: emulated, read_mb_per_s: 500, write_mb_per_s: 500, inner: {type: posix, root: x}}";
  const auto reads = [](const char* overrun_s) {
    return R"({"data": {"read": {"duration_s": {"sum": 38}, "bytes": 320000000, "busy_s": 10},
                        "overruns": 9, "overrun_s": )" +
           std::string(overrun_s) + "}}";
  };
  EXPECT_EQ(verdict_of(reading(tier, reads("0.5"))).cause, "storage_latency");
  EXPECT_EQ(verdict_of(reading(tier, reads("30"))).cause, "storage_bandwidth");
}

TEST(VerdictOfARun, bad_samples_reports_and_measuring_are_listed_by_cost) {
  RunFiles run = input_bound();
  run.summary["loaders"]["train"]["skipped"] = {{"corrupt", 800}};
  run.summary["segments_s"]["log"] = 2;
  run.summary["overhead_share"] = 0.1;
  run.summary["device"]["idle_s"] = {{"data", 4}, {"host", 2}};
  const Verdict found = verdict_of(run);
  std::vector<std::string> names;
  for (size_t i = 0; i < found.findings.size(); ++i) {
    names.push_back(found.findings[i].cause);
    if (i > 0) {
      EXPECT_LE(found.findings[i].cost, found.findings[i - 1].cost);
    }
  }
  EXPECT_EQ(names, (std::vector<std::string>{"decode", "reporting", "measuring", "bad_samples",
                                             "prefetch_depth"}));
}

TEST(VerdictOfARun, copies_that_pause_want_to_be_made_ahead) {
  RunFiles run = input_bound();
  run.summary["device"] = {
      {"observed_s", 10}, {"busy_s", 7}, {"copy_s", 3}, {"idle_s", {{"h2d", 3}}}};
  const Verdict found = verdict_of(run);
  EXPECT_EQ(found.cause, "h2d_copy");
  EXPECT_EQ(found.findings.front().overrides,
            std::vector<std::string>{"loader.type=device_prefetched"});
}

}  // namespace
}  // namespace stoker
