#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/experiment/experiment.h"

namespace stoker {

// A loader with one number of workers.
struct ScalingRow {
  int64_t workers = 0;
  std::vector<double> images_per_s;  // one per round
  double cpu_us = 0;                 // of the process per image, over all rounds
  std::vector<std::string> order;    // per epoch: a digest of what was handed out, in its order
};

// What `stoker bench loader --scaling` measured, by number of workers.
struct ScalingBenchmark {
  int64_t cores = 0;   // that this process may use
  int64_t images = 0;  // per epoch
  std::vector<ScalingRow> rows;

  // Every row handed out the same batches in the same order.
  bool exact_order() const;
  // The median rate of a row / what as many workers would do if each did what one of the first row
  // does. Means nothing where a row has more workers than there are cores.
  double efficiency(const ScalingRow& row) const;
};

// The configured loader with each of these numbers of workers. First an epoch of each with the
// digests of its pixels; then rounds in which each loads an epoch without them, in turn. Every time
// by a new loader, so that none reads ahead while another one is measured; what making it takes is
// not measured. Error(ExitCode::config) for a loader without workers.
ScalingBenchmark bench_scaling(Experiment& experiment, std::vector<int64_t> workers,
                               int64_t rounds);

// The same as text, or as one line of JSON.
std::string scaling_text(const ScalingBenchmark& result, Experiment& experiment);
std::string scaling_json(const ScalingBenchmark& result, Experiment& experiment);

}  // namespace stoker
