#pragma once

#include <vector>

#include "app/experiment.h"

namespace stoker {

// What `stoker bench loader` measured: full epochs of a loader without a model.
struct LoaderBenchmark {
  int64_t images = 0;                // per epoch
  double first_batch_s = 0;          // of the warm-up epoch
  std::vector<double> images_per_s;  // one per measured epoch
  double cpu_s_per_1000 = 0;  // process CPU seconds per 1,000 images over the measured epochs
  double read_us = 0;         // worker time per image
  double decode_us = 0;
  double bytes_per_image = 0;
  int64_t skipped = 0;
};

// One warm-up epoch, then `epochs` measured ones; every batch is taken and dropped at once.
LoaderBenchmark bench_loader(Experiment& experiment, int64_t epochs);

// Images/s of one epoch of a new loader, without a warm-up: for what must not have been read
// before.
double bench_first_epoch(Experiment& experiment, int64_t epoch);

}  // namespace stoker
