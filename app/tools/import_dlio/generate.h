#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "app/tools/import_dlio/workload.h"

namespace stoker {

// What was written. A value.
struct DlioData {
  int64_t files = 0;
  uint64_t bytes = 0;
  double seconds = 0;
};

// Writes the files that DLIO's own generator would, under the names by which DLIO finds them:
// DIRECTORY/train/img_01_of_16.npz, in subfolders where the workload has some, and DIRECTORY/valid
// where it has files to evaluate. Sizes are drawn as DLIO draws them, from the workload's seed;
// contents do not compress. Several files are written at once, each is durable and whole under its
// name, or not there. progress(files, all) is called by the caller's thread.
// Error(ExitCode::config) for formats that are not written (png), Error(ExitCode::environment)
// where there are files already; IoError.
DlioData generate(const DlioWorkload& workload, const std::string& directory,
                  const std::function<void(int64_t, int64_t)>& progress);

}  // namespace stoker
