#pragma once

#include <string>

#include "io/metrics/record/run_record.h"

namespace stoker {

// What counts as cold and as warm, wherever the program says so: the share of the data's bytes that
// the page cache may still hold, or lack, when a measurement begins. A few pages always come back,
// because somebody looked at the files; a rate measured with this share is off by it at most.
inline constexpr double kColdShare = 0.03;
inline bool is_cold(double cached_share) { return cached_share <= kColdShare; }
inline bool is_warm(double cached_share) { return cached_share >= 1 - kColdShare; }

// Where the data came from.
struct CacheVerdict {
  enum class Level { unknown, cold, mixed, warm };
  Level level = Level::unknown;
  // The figures that it was judged by.
  std::string text;
};
// "cold": the word in summary.json.
const char* to_string(CacheVerdict::Level level);

// The page cache was not as the run was told to make it: why, in words. Such a run says nothing of
// the storage below. Empty: it was, or nothing was asked.
std::string missed_page_cache(const CacheEvidence& cache);
// What was read in the next epochs. Where it is as cold or warm as what was read in those before
// them, it is added to that.
void add_epochs(CacheEvidence& cache, const EpochReads& reads);
// A whole record. One process: by what its reading threads fetched; `unknown` where the kernel does
// not say. Which epochs were cold or warm is said where not all were the same. Many ranks: by what
// the page cache held when the run began, where that is known.
CacheVerdict judge_cache(const RunRecord& record);

}  // namespace stoker
