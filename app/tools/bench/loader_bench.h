#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/base/config_arguments.h"
#include "io/core/error.h"

namespace stoker {

// What `stoker bench loader` is asked for. A value.
struct LoaderBenchArguments : ConfigArguments {
  int64_t epochs = 3;            // measured epochs, which follow one that warms up
  int64_t ceiling_samples = 0;   // files that libjpeg-turbo decodes; as CeilingOptions::samples
  std::vector<int64_t> scaling;  // measure each of these numbers of workers instead
  std::string dump;              // a .npy file for the first batch's pixels; empty: none
  bool quick = false;            // do not compare the loader with anything, and do not count calls
};

// `stoker bench loader`: images/s of the configured loader without a model, beside what
// libjpeg-turbo alone does with the same files. Prints the result. Allocations and copies are
// counted in a process of its own. Figures that were not measured are absent. In JSON they have the
// names that the peers of tests/experiments/peers use as well: workers, rates, per_cpu_s, cpu_s_per_1000,
// rss_mb, pss_mb, mean, shape, layout. Throws Error.
ExitCode bench_loader(const LoaderBenchArguments& arguments);

// `stoker bench loader --scaling`: the configured loader with each of these numbers of workers.
// Each first loads an epoch with the digests of its pixels. Then each loads an epoch without them
// in every round. A new loader does it every time, so that none reads ahead while another one is
// measured; the time that making it takes does not count. Prints the result.
// Error(ExitCode::config) for a loader without workers; ExitCode::bug where the order of batches
// depends on their number.
ExitCode bench_scaling(const LoaderBenchArguments& arguments);

}  // namespace stoker
