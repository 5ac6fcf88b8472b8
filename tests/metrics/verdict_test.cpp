#include "io/metrics/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stoker {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kStalledAfter = 120;

// A run of 100 s of which the device lost a share to a cause.
RunMeter::State run_with(IdleCause cause, double share) {
  RunMeter::State run;
  run.phase = RunPhase::train;
  run.totals.steps = 10;
  run.totals.wall_s = run.totals.device.observed = 100;
  run.totals.device.idle[static_cast<size_t>(cause)] = 100 * share;
  run.totals.device.busy = 100 * (1 - share);
  return run;
}

LoaderMeter::State loader_with(int64_t read_ms, int64_t decode_ms, int64_t wait_ms) {
  LoaderMeter::State loader;
  loader.split = "train";
  loader.workers = 4;
  loader.stages[static_cast<size_t>(Stage::read)].ns = read_ms * 1'000'000;
  loader.stages[static_cast<size_t>(Stage::decode)].ns = decode_ms * 1'000'000;
  loader.stages[static_cast<size_t>(Stage::wait)].ns = wait_ms * 1'000'000;
  return loader;
}

Verdict judge_of(const RunMeter::State& run, const LoaderMeter::State& loader = {}) {
  RunRecord record;
  record.run = run;
  record.loaders = {loader};
  return judge(record, kStalledAfter);
}

TEST(Verdict, TheThresholdsAreFiveAndTwentyPercent) {
  EXPECT_EQ(judge_of(run_with(IdleCause::data, 0.049)).level, Verdict::Level::fine);
  EXPECT_EQ(judge_of(run_with(IdleCause::data, 0.051)).level, Verdict::Level::moderate);
  EXPECT_EQ(judge_of(run_with(IdleCause::data, 0.199)).level, Verdict::Level::moderate);
  EXPECT_EQ(judge_of(run_with(IdleCause::data, 0.201)).level, Verdict::Level::input_bound);
  EXPECT_EQ(judge_of(run_with(IdleCause::h2d, 0.5)).level, Verdict::Level::input_bound);
  EXPECT_EQ(judge_of(run_with(IdleCause::checkpoint, 0.5)).level, Verdict::Level::checkpoint_bound);
  EXPECT_EQ(judge_of(run_with(IdleCause::host, 0.5)).level, Verdict::Level::host_bound);
  EXPECT_EQ(judge_of(run_with(IdleCause::peers, 0.5)).level, Verdict::Level::peers_bound);
}

TEST(Verdict, NamesTheRankThatHoldsTheOthersUp) {
  RunMeter::State run = run_with(IdleCause::peers, 0.3);
  run.ranks.assign(3, rank_times(run.totals, "host", {}));
  EXPECT_THAT(judge_of(run).text, Not(HasSubstr("Rank")));  // all wait alike
  RankTimes& slow = run.ranks[1];
  slow.idle[static_cast<size_t>(IdleCause::peers)] = 0;
  slow.idle[static_cast<size_t>(IdleCause::data)] = 30;
  EXPECT_THAT(judge_of(run).text,
              HasSubstr("Rank 1 holds the others up, by its data: 30.00 s more than theirs"));
}

TEST(Verdict, SaysThatTheProcessStoodStill) {
  RunMeter::State run = run_with(IdleCause::data, 0.01);
  EXPECT_THAT(judge_of(run).evidence, Not(testing::Contains(HasSubstr("stood still"))));
  run.totals.wall_s += 5;
  run.totals.segments[static_cast<size_t>(Segment::paused)] = 5;
  EXPECT_EQ(judge_of(run).level, Verdict::Level::fine);
  EXPECT_THAT(judge_of(run).evidence,
              testing::Contains(HasSubstr("the process stood still for 5.0 s")));
}

TEST(Verdict, NamesARankThatStoodStill) {
  RunMeter::State run = run_with(IdleCause::peers, 0.3);
  run.ranks.assign(3, rank_times(run.totals, "host", {}));
  run.ranks[2].idle[static_cast<size_t>(IdleCause::peers)] = 0;
  run.ranks[2].segments[static_cast<size_t>(Segment::paused)] = 30;
  EXPECT_THAT(judge_of(run).text, HasSubstr("Rank 2 holds the others up, by its pause: 30.00 s"));
}

TEST(Verdict, NamesTheStageThatBinds) {
  RunMeter::State run = run_with(IdleCause::data, 0.6);
  run.info.loads_ahead = true;
  EXPECT_THAT(judge_of(run, loader_with(900, 100, 0)).text,
              HasSubstr("90 % of the loader's work is reading"));
  EXPECT_THAT(judge_of(run, loader_with(100, 900, 10)).text,
              HasSubstr("decoding, and its 4 workers are busy"));
  EXPECT_THAT(judge_of(run, loader_with(100, 900, 3000)).text, HasSubstr("workers wait 75 %"));
}

TEST(Verdict, ALoaderThatDoesNothingAheadIsToldOfOneThatDoes) {
  RunMeter::State run = run_with(IdleCause::data, 0.6);
  run.info.loader = "threaded";
  EXPECT_THAT(judge_of(run, loader_with(100, 900, 300)).text, HasSubstr("loader.type=prefetched"));
}

TEST(Verdict, AStallSaysWhereTheTrainerIsAndWhatIsUnderWay) {
  RunMeter::State run = run_with(IdleCause::data, 0.01);
  run.stalled_s = kStalledAfter + 1;
  run.doing.segment = Segment::data_wait;
  TierMeter::State tier;
  tier.name = "data";
  tier.in_flight = 3;
  RunRecord record;
  record.run = run;
  record.loaders.resize(1);
  record.tiers = {tier};
  const Verdict verdict = judge(record, kStalledAfter);
  EXPECT_EQ(verdict.level, Verdict::Level::stalled);
  EXPECT_THAT(verdict.text, HasSubstr("data_wait"));
  EXPECT_THAT(verdict.evidence, testing::Contains("3 operations under way on tier 'data'"));
  run.phase = RunPhase::flush;  // what waits for a slow tier is no stall of the training
  EXPECT_NE(judge_of(run).level, Verdict::Level::stalled);
}

TEST(Verdict, NothingObservedIsUnknownAndAFailureIsNamed) {
  RunMeter::State run;
  EXPECT_EQ(judge_of(run).level, Verdict::Level::unknown);
  run.phase = RunPhase::failed;
  run.error = "no space left";
  EXPECT_THAT(judge_of(run).text, HasSubstr("no space left"));
}

CacheVerdict cache_of(const CacheEvidence& cache, const LoaderMeter::State& loader,
                      int64_t ranks = 1) {
  RunRecord record;
  record.run.info.world_size = ranks;
  record.run.cache = cache;
  record.loaders = {loader};
  return judge_cache(record);
}

TEST(CacheVerdict, ComparesWhatWasAskedForWithWhatBlockDevicesDelivered) {
  LoaderMeter::State loader;
  EXPECT_EQ(cache_of({}, loader).level, CacheVerdict::Level::unknown);
  loader.stages[static_cast<size_t>(Stage::read)].bytes = 1000;
  EXPECT_EQ(cache_of({}, loader).level, CacheVerdict::Level::unknown);  // not measured
  loader.storage_bytes = 49;
  EXPECT_EQ(cache_of({}, loader).level, CacheVerdict::Level::warm);
  EXPECT_THAT(cache_of({}, loader).text, HasSubstr("does not measure the storage"));
  loader.storage_bytes = 500;
  EXPECT_EQ(cache_of({}, loader).level, CacheVerdict::Level::mixed);
  loader.storage_bytes = 1100;  // with read-ahead
  EXPECT_EQ(cache_of({}, loader).level, CacheVerdict::Level::cold);
  EXPECT_THAT(cache_of({200, 0.25, {}}, loader).text,
              HasSubstr("held 25 % of the data (200 files"));
}

TEST(CacheVerdict, of_many_ranks_is_what_the_page_cache_held_before_for_one_may_read_for_all) {
  LoaderMeter::State loader;
  loader.stages[static_cast<size_t>(Stage::read)].bytes = 1000;
  loader.storage_bytes = 0;
  EXPECT_EQ(cache_of({200, 0.0, {}}, loader, 2).level, CacheVerdict::Level::cold);
  EXPECT_EQ(cache_of({200, 0.5, {}}, loader, 2).level, CacheVerdict::Level::mixed);
  loader.storage_bytes = 1000;
  EXPECT_EQ(cache_of({200, 1.0, {}}, loader, 2).level, CacheVerdict::Level::warm);
  EXPECT_THAT(cache_of({200, 1.0, {}}, loader, 2).text, HasSubstr("ranks of a machine share it"));
  EXPECT_EQ(cache_of({}, loader, 2).level, CacheVerdict::Level::cold);  // no files to look at
}

TEST(PageCache, a_run_that_was_not_cold_as_told_is_found_out) {
  CacheEvidence cache{200, 0.5, {}, PageCache::cold};
  EXPECT_EQ(missed_page_cache(cache),
            "run.page_cache is cold, but when the run began the page cache held 50 % of the data "
            "(200 files looked at)");
  cache.resident_before = 1.01 * kColdShare;
  EXPECT_NE(missed_page_cache(cache), "");
  cache.resident_before = kColdShare;
  EXPECT_EQ(missed_page_cache(cache), "");
  cache.wanted = PageCache::warm;
  cache.resident_before = 1 - 1.01 * kColdShare;
  EXPECT_THAT(missed_page_cache(cache), HasSubstr("is warm, but"));
  cache.resident_before = 1;
  EXPECT_EQ(missed_page_cache(cache), "");
  cache.resident_before.reset();
  EXPECT_THAT(missed_page_cache(cache), HasSubstr("no files whose pages can be looked at"));
  cache.wanted = PageCache::as_is;
  EXPECT_EQ(missed_page_cache(cache), "");
}

}  // namespace
}  // namespace stoker
