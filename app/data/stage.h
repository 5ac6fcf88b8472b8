#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "app/base/config_arguments.h"
#include "io/core/error.h"
#include "io/storage/cached/cached.h"

namespace stoker {

// What staging did, or would do.
struct StagingReport {
  int64_t objects = 0;  // of the inner tier
  uint64_t bytes = 0;
  int64_t staged_before = 0;
  uint64_t bytes_before = 0;
  StagingPlan plan;     // what is still to copy
  int64_t strange = 0;  // objects on the fast tier that are no copies of these
  int64_t copied = 0;
  uint64_t bytes_copied = 0;
  int64_t unreadable = 0;
  double seconds = 0;
};

// What the tier's rule would still copy.
StagingReport plan_staging(const CachedOptions& options, const Storage& inner, const Storage& in);

// Copies it, one object after the other. progress (bytes done, total) may be empty, and may throw
// to stop. Throws IoError where the tier for copies fails; what was copied stays.
void stage_dataset(StagingReport& report, const Storage& inner, Storage& in,
                   const std::function<void(uint64_t, uint64_t)>& progress = {});

struct StageArguments : ConfigArguments {
  bool dry_run = false;  // print what would be copied
  bool json = false;
};

// `stoker dataset stage`: copies ahead of a run, and prints the report. Error(ExitCode::config)
// where the data set's tier is not of type cached, or keeps its copies in memory.
ExitCode stage_experiment(const StageArguments& arguments);

}  // namespace stoker
