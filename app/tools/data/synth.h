#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "io/core/error.h"
#include "io/dataset/synthetic_image.h"

namespace stoker {

// What `stoker dataset synth` is asked for. The defaults are the files of the 2018 study's
// micro-benchmark (median 112 KB) in a tenth of its number. A value.
struct SynthOptions {
  // Made where it is not there.
  std::string directory;
  // jpeg: images; bytes: what looks like byte code; datum: a database of pixels; hep, climate:
  // HDF5 files of scientific data.
  std::string kind = "jpeg";
  int64_t files = 1638;
  int64_t classes = 10;
  // datum: pixels of a side; hep: likewise; climate: rows, with half as many columns more. 0: 32,
  // 224, 768.
  int64_t size = 0;
  // hep: samples in a file, files to test on beside `files`, and samples in one of those.
  int64_t per_file = 709;
  int64_t test_files = 0;
  int64_t per_test_file = 94;
  // Seed of sizes and pixels.
  uint64_t seed = 1;
  // 0: one per core.
  int64_t threads = 0;
  // The result as JSON (synth()).
  bool json = false;
  // For kind bytes, only the size is used.
  SyntheticImageOptions image{400, 300, 90, ByteSize{112'000}, 0.5};
};

// What was written. A value.
struct SynthResult {
  int64_t files = 0;
  uint64_t bytes = 0;
};

// Writes generated files as an image_folder: "class_003/000013.jpg" (or .bin); kind datum is
// written by synth_database(), and hep and climate by synth_hdf5(). The bytes are a function of the
// options, whatever the number of threads. The threads are started and joined here. progress (files
// done, all files) is called by the calling thread, may be empty, and may throw to stop.
// Error(ExitCode::environment) if the directory is there and not empty; IoError. What was written
// before a failure stays.
SynthResult synth_dataset(const SynthOptions& options,
                          const std::function<void(int64_t, int64_t)>& progress = {});

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

// `stoker dataset synth`: synth_dataset() with a line of progress; prints what was written.
ExitCode synth(const SynthOptions& options);

}  // namespace stoker
