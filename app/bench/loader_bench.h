#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/base/config_arguments.h"
#include "io/core/error.h"

namespace stoker {

struct LoaderBenchArguments : ConfigArguments {
  int64_t epochs = 3;            // measured, after one that warms up
  int64_t ceiling_samples = 0;   // files that libjpeg-turbo decodes; as CeilingOptions::samples
  std::vector<int64_t> scaling;  // instead: a row for each of these numbers of workers
  std::string dump;              // a .npy file for the first batch's pixels; empty: none
  bool quick = false;            // the loader alone: no comparison, no counting of calls
  bool json = false;
};

// `stoker bench loader`: images/s of the configured loader without a model, beside what
// libjpeg-turbo alone does with the same files. Prints the result. Allocations and copies are
// counted in a process of its own. Throws Error; ExitCode::bug where the order of batches depends
// on the number of workers (scaling).
ExitCode bench_loader(const LoaderBenchArguments& arguments);

}  // namespace stoker
