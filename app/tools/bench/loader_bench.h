#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/base/config_arguments.h"
#include "io/core/error.h"

namespace stoker {

// What `stoker bench loader` is asked for. A value.
struct LoaderBenchArguments : ConfigArguments {
  int64_t epochs = 3;            // measured, after one that warms up
  int64_t ceiling_samples = 0;   // files that libjpeg-turbo decodes; as CeilingOptions::samples
  std::vector<int64_t> scaling;  // instead: a row for each of these numbers of workers
  std::string dump;              // a .npy file for the first batch's pixels; empty: none
  bool quick = false;            // the loader alone: no comparison, no counting of calls
};

// `stoker bench loader`: images/s of the configured loader without a model, beside what
// libjpeg-turbo alone does with the same files. Prints the result. Allocations and copies are
// counted in a process of its own. Figures that were not measured are absent. In JSON they have the
// names that the peers of tests/bench/peers use as well: workers, rates, per_cpu_s, cpu_s_per_1000,
// rss_mb, pss_mb, mean, shape, layout. Throws Error.
ExitCode bench_loader(const LoaderBenchArguments& arguments);

// `stoker bench loader --scaling`: the configured loader with each of these numbers of workers.
// First an epoch of each with the digests of its pixels; then rounds in which each loads an epoch
// without them, in turn. Every time by a new loader, so that none reads ahead while another one is
// measured; what making it takes is not measured. Prints the result. Error(ExitCode::config) for a
// loader without workers; ExitCode::bug where the order of batches depends on their number.
ExitCode bench_scaling(const LoaderBenchArguments& arguments);

}  // namespace stoker
