#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/metrics/record/run_record.h"

namespace stoker {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

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

TEST(CacheVerdict, says_which_epochs_were_cold) {
  CacheEvidence cache{200, 0.0, {}, PageCache::cold, {}};
  add_epochs(cache, {1, 1, 1000, 990});
  LoaderMeter::State loader;
  loader.stages[static_cast<size_t>(Stage::read)].bytes = 1000;
  loader.storage_bytes = 990;
  EXPECT_THAT(cache_of(cache, loader).text, Not(HasSubstr("epoch 1")));  // as all of the run
  for (int64_t epoch = 2; epoch < 40; epoch += 2) add_epochs(cache, {epoch, epoch + 1, 2000, 0});
  EXPECT_EQ(cache.epochs.size(), 2u);
  loader.stages[static_cast<size_t>(Stage::read)].bytes = 39000;
  const CacheVerdict verdict = cache_of(cache, loader);
  EXPECT_EQ(verdict.level, CacheVerdict::Level::warm);
  EXPECT_THAT(verdict.text, EndsWith("; epoch 1 was cold, epochs 2 to 39 were warm"));
  add_epochs(cache, {40, 40, 1000, 500});
  EXPECT_THAT(cache_of(cache, loader).text, EndsWith("2 to 39 were warm, epoch 40 was mixed"));
  add_epochs(cache, {41, 41, 0, 0});  // of a data set that was already read
  EXPECT_EQ(cache.epochs.back().last, 40);
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
