#pragma once

#include <cstdint>
#include <functional>

#include "app/tools/data/synth.h"

namespace stoker {

// Writes generated scientific data as HDF5 files, with a classes.txt beside them.
//
//   hep      as of the benchmark HEPCNNB: train-00000.h5 and test-00000.h5, each with data [n, 3,
//            size, size] (float32, contiguous), label (int32), normweight and weight (float32), psr
//            (int32)
//   climate  as of the Climate Data Benchmark: data-00000.h5, each with the group climate: data
//            [16, size, size * 3 / 2] (float32) in one chunk, labels [size, size * 3 / 2], stats
//            [16, 4]; and stats.h5, with the stats of all
//
// Needs the memory of one climate file for each thread. Contract as synth_dataset().
SynthResult synth_hdf5(const SynthOptions& options,
                       const std::function<void(int64_t, int64_t)>& progress = {});

}  // namespace stoker
