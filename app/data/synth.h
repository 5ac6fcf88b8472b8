#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "io/core/error.h"
#include "io/dataset/synthetic_image.h"

namespace stoker {

// The defaults are the files of the 2018 study's micro-benchmark (median
// 112 KB) in a tenth of its number.
struct SynthOptions {
  std::string directory;
  int64_t files = 1638;
  int64_t classes = 10;
  uint64_t seed = 1;
  int64_t threads = 0;  // 0: one per core
  bool json = false;    // of synth(): print one line of JSON
  SyntheticImageOptions image{400, 300, 90, ByteSize{112'000}, 0.5};
};

struct SynthResult {
  int64_t files = 0;
  uint64_t bytes = 0;
};

// Writes generated JPEGs as an image_folder: "class_003/000013.jpg". Their bytes are a function of
// the options, whatever the number of threads. progress (done, total) is called by the calling
// thread. Error(ExitCode::environment) where the directory is there and not empty; IoError.
SynthResult synth_dataset(const SynthOptions& options,
                          const std::function<void(int64_t, int64_t)>& progress = {});

// `stoker dataset synth`: the same with a line of progress; prints what was written.
ExitCode synth(const SynthOptions& options);

}  // namespace stoker
