#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "io/metrics/clock.h"

namespace stoker {

// What reading the records of a database has cost this rank. A value. Its instruments are those of
// LMDBIO's papers (HPCC 2017, section III; ICPADS 2017, section V).
struct RecordReadCosts {
  // Seconds of the reading threads, while they read: all, and of it in user space and in the
  // kernel. The rest is sleep.
  double wall_s = 0;
  double user_s = 0;
  double kernel_s = 0;
  double sleep_s() const;  // at least 0
  // Context switches and page faults of the same stretches.
  int64_t voluntary_switches = 0;
  int64_t involuntary_switches = 0;
  int64_t minor_faults = 0;
  int64_t major_faults = 0;
  // The part of wall_s that was spent waiting for other ranks: at barriers, for the cursor, for the
  // turn to read.
  double waiting_s = 0;
  // Seconds until the first record could be read: opening, walking, computing offsets.
  double opening_s = 0;
  // Explicit reads, and their bytes.
  int64_t requests = 0;
  int64_t bytes = 0;
  // Pages of the records that were asked for; pages that a guess touched or a range read; needed
  // pages that were not among those, in front and behind, and the other way round.
  int64_t pages_needed = 0;
  int64_t pages_fetched = 0;
  int64_t pages_missed_left = 0;
  int64_t pages_missed_right = 0;
  int64_t pages_extra_left = 0;
  int64_t pages_extra_right = 0;
  RecordReadCosts& operator+=(const RecordReadCosts& other);
};

// Adds up what reading costs. Any thread. Lives as long as the run.
class RecordReadMeter {
 public:
  // Counts what the calling thread does from here to its end: wall time, rusage of the thread. At
  // most one of a thread at a time.
  class Reading {
   public:
    explicit Reading(RecordReadMeter& meter);
    ~Reading();
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

   private:
    RecordReadMeter& meter_;
    TimePoint begin_;
    RecordReadCosts before_;
  };
  // Counts; times are left to Reading, but waiting_s and opening_s.
  void add(const RecordReadCosts& costs);
  // Absent: nobody has read records.
  std::optional<RecordReadCosts> costs() const;

 private:
  mutable std::mutex mutex_;
  std::optional<RecordReadCosts> costs_;
};

}  // namespace stoker
