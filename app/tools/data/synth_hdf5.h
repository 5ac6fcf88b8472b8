#pragma once

#include <cstdint>
#include <functional>

#include "app/tools/data/synth.h"

namespace stoker {

// Writes generated scientific data as HDF5 files, with a classes.txt beside them.
//
//   hep      Files like those of the benchmark HEPCNNB, train-00000.h5 and test-00000.h5. Each has
//              data                [n, 3, size, size], float32, contiguous
//              label, psr          [n], int32
//              normweight, weight  [n], float32
//   climate  Files like those of the Climate Data Benchmark, data-00000.h5. Each has a group
//   climate
//            with
//              data    [16, size, size * 3 / 2], float32, in one chunk
//              labels  [size, size * 3 / 2]
//              stats   [16, 4]
//            stats.h5 has the stats of all files.
//
// Needs the memory of one climate file for each thread. Contract as synth_dataset().
SynthResult synth_hdf5(const SynthOptions& options,
                       const std::function<void(int64_t, int64_t)>& progress = {});

}  // namespace stoker
