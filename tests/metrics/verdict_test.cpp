#include "io/metrics/verdict/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "io/metrics/record/record_json.h"

namespace stoker {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kStalledAfter = 120;

// A run of 100 s of which the device lost a share to a cause.
RunMeter::State run_with(IdleCause cause, double share) {
  RunMeter::State run;
  run.phase = RunPhase::train;
  run.totals.steps = 1000;
  run.totals.images = 32'000;
  run.totals.wall_s = run.totals.device.observed = 100;
  run.totals.device.idle[static_cast<size_t>(cause)] = 100 * share;
  run.totals.device.busy = 100 * (1 - share);
  return run;
}

// The verdict of a record, as everybody shows it.
nlohmann::json verdict_of(const RunMeter::State& run, const LoaderMeter::State& loader = {}) {
  RunRecord record;
  record.run = run;
  record.loaders = {loader};
  return to_json(record, kStalledAfter)["verdict"];
}
std::string level_of(IdleCause cause, double share) {
  return verdict_of(run_with(cause, share))["level"];
}
std::string all_of(const nlohmann::json& verdict) { return verdict.dump(); }

TEST(Verdict, the_thresholds_are_five_and_twenty_percent) {
  EXPECT_EQ(level_of(IdleCause::data, 0.049), "fine");
  EXPECT_EQ(level_of(IdleCause::data, 0.051), "moderate");
  EXPECT_EQ(level_of(IdleCause::data, 0.199), "moderate");
  EXPECT_EQ(level_of(IdleCause::data, 0.201), "input_bound");
  EXPECT_EQ(level_of(IdleCause::h2d, 0.5), "input_bound");
  EXPECT_EQ(level_of(IdleCause::host, 0.5), "host_bound");
  EXPECT_EQ(level_of(IdleCause::peers, 0.5), "peers_bound");
}

TEST(Verdict, a_wait_that_is_hidden_costs_nothing_and_says_so) {
  RunMeter::State run = run_with(IdleCause::data, 0.022);
  run.totals.segments[static_cast<size_t>(Segment::data_wait)] = 98.2;
  const nlohmann::json verdict = verdict_of(run);
  EXPECT_EQ(verdict["level"], "fine");
  EXPECT_EQ(
      verdict["evidence"][0],
      "the trainer waited 98.2 % of its time for data, of which 96.0 points were hidden behind "
      "queued steps; the device lost 2.2 % for it");
}

TEST(Verdict, colours_are_for_what_costs_the_device) {
  RunRecord record;
  record.run = run_with(IdleCause::data, 0.022);
  record.run.totals.segments[static_cast<size_t>(Segment::data_wait)] = 98.2;
  record.loaders.emplace_back();
  const nlohmann::json out = to_json(record);
  EXPECT_NEAR(out["exposed_io_share"], 0.022, 1e-12);
  EXPECT_NEAR(out["exposed_io_s"], 2.2, 1e-12);
  EXPECT_EQ(out["judged"]["exposed_io_share"]["text"], "fine, under 5 %");
  EXPECT_FALSE(out["judged"].contains("io_share"));
  EXPECT_EQ(out["judged"]["bounds"], (nlohmann::json{0.05, 0.2}));
}

TEST(Verdict, names_the_rank_that_holds_the_others_up) {
  RunMeter::State run = run_with(IdleCause::peers, 0.3);
  run.ranks.assign(3, rank_times(run.totals, "host", {}));
  EXPECT_THAT(all_of(verdict_of(run)), Not(HasSubstr("Rank")));  // all wait alike
  RankTimes& slow = run.ranks[1];
  slow.idle[static_cast<size_t>(IdleCause::peers)] = 0;
  slow.idle[static_cast<size_t>(IdleCause::data)] = 30;
  EXPECT_THAT(std::string(verdict_of(run)["text"]),
              HasSubstr("Rank 1 holds the others up, by its data."));
}

TEST(Verdict, says_that_the_process_stood_still) {
  RunMeter::State run = run_with(IdleCause::data, 0.01);
  EXPECT_THAT(all_of(verdict_of(run)), Not(HasSubstr("stood still")));
  run.totals.segments[static_cast<size_t>(Segment::paused)] = 7;
  EXPECT_THAT(all_of(verdict_of(run)), HasSubstr("the process stood still for 7.0 s"));
}

TEST(Verdict, a_loader_that_does_nothing_ahead_is_told_of_one_that_does) {
  RunMeter::State run = run_with(IdleCause::data, 0.4);
  run.info.plan.works_ahead = false;
  EXPECT_EQ(verdict_of(run)["next"], "loader.type=prefetched (at best +67 % images/s)");
}

TEST(Verdict, a_stall_says_where_the_trainer_is_and_what_is_under_way) {
  RunRecord record;
  record.run = run_with(IdleCause::data, 0.5);
  record.run.stalled_s = 130;
  record.run.doing.segment = Segment::data_wait;
  record.loaders.emplace_back();
  record.tiers.push_back({.name = "data", .type = "posix", .in_flight = 3});
  const nlohmann::json verdict = to_json(record, kStalledAfter)["verdict"];
  EXPECT_EQ(verdict["level"], "stalled");
  EXPECT_EQ(verdict["text"], "Nothing has moved for 130 s; the trainer is in data_wait.");
  EXPECT_EQ(verdict["evidence"][0], "3 operations under way on tier 'data'");
  EXPECT_EQ(to_json(record)["verdict"]["level"], "input_bound");
}

TEST(Verdict, nothing_observed_is_unknown_and_a_failure_is_named) {
  RunMeter::State run;
  EXPECT_EQ(verdict_of(run)["level"], "unknown");
  run.phase = RunPhase::failed;
  run.error = "disk full";
  EXPECT_EQ(verdict_of(run)["text"], "The run failed: disk full");
}

TEST(Verdict, another_run_on_the_emulated_tier_is_the_cause_where_reads_are_late) {
  RunRecord record;
  record.run = run_with(IdleCause::data, 0.5);
  LoaderMeter::State& loader = record.loaders.emplace_back();
  loader.split = "train";
  loader.stages[static_cast<size_t>(Stage::read)].ns = 90'000'000'000;
  loader.stages[static_cast<size_t>(Stage::read)].count = 32'000;
  record.tiers.push_back({.name = "data", .type = "emulated", .emulated = true, .processes = 2});
  const nlohmann::json verdict = to_json(record)["verdict"];
  EXPECT_EQ(verdict["cause"], "shared_tier");
  EXPECT_EQ(verdict["level"], "contended");
  EXPECT_THAT(std::string(verdict["next"]), HasSubstr("storage.data.shared=false"));
  record.run.info.local_ranks = 2;  // its own ranks are no strangers
  EXPECT_NE(to_json(record)["verdict"]["cause"], "shared_tier");
}

}  // namespace
}  // namespace stoker
