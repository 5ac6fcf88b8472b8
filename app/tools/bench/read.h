#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "app/base/command_line.h"
#include "app/tools/bench/read_pass.h"
#include "io/core/error.h"
#include "io/dataset/dataset.h"
#include "io/storage/file_tree.h"

namespace stoker {

// What is measured, and how often. A value.
struct ReadBenchOptions {
  std::vector<int64_t> threads{1, 2, 4, 8};
  // A pass takes batches * batch samples; 0 batches mean one epoch.
  int64_t batch = 64;
  int64_t batches = 0;
  // Number of passes; the first one does not count.
  int64_t repetitions = 6;
  // The order of the samples is a function of it.
  uint64_t seed = 1;
  // The pass has an order of its own, so the files of all samples are looked at.
  bool own_order = false;
};

// All passes by one number of threads, in the order they ran. A value.
struct ReadBenchResult {
  int64_t threads = 0;
  std::vector<ReadRepetition> repetitions;  // without the first
};

// The 2018 study's micro-benchmark: takes the training samples in a shuffled order by `pass`. Every
// repetition takes every number of threads once, in the order of a new epoch.
//
// files: the files of the samples, which are looked at before each pass; null: the data set has no
// files. cold: they are also evicted (needs files). progress (passes done, total) is called between
// passes and may be empty.
//
// Bad samples are treated as dataset.on_error says, but are left out where a loader replaces them.
// Error(ExitCode::data) for bad samples, ExitCode::config where there are fewer samples than asked
// for; IoError.
std::vector<ReadBenchResult> bench_read(const Dataset& dataset, const ReadPass& pass,
                                        const FileTree* files, bool cold,
                                        const ReadBenchOptions& options,
                                        const std::function<void(int64_t, int64_t)>& progress = {});

// What `stoker bench read` is asked for. A value.
struct ReadBenchArguments : ConfigArguments {
  ReadBenchOptions options;         // its seed is that of the experiment
  std::string stages = "read";      // a name of ReadStages
  bool pipeline = false;            // read through the loader `threaded`
  bool loader = false;              // read through the experiment's own loader
  std::string page_cache = "cold";  // or "as_is"
};

// `stoker bench read`: the same for an experiment; prints the rates. ExitCode::environment where
// everything had to be cold and nothing was. Error(ExitCode::config) for stages that the decoder
// does not have, and for cold where there are no files.
ExitCode bench_read(ReadBenchArguments arguments);

}  // namespace stoker
