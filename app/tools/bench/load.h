#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/checkpoint/restoring/piece_reader.h"
#include "io/core/error.h"

namespace stoker {

// What `stoker bench load` is asked for. A value.
struct LoadBenchArguments {
  // Safetensors files, or the directory of a set of checkpoints; keys of the tier, where one is
  // named.
  std::vector<std::string> files;
  std::string config;  // of the tier; empty: there is none
  std::string tier;
  std::string access = "auto";  // a name of LoadAccess
  int64_t threads = kReadingThreads;
  int64_t rounds = 5;
  bool cold = false;  // evict the files before each reading, and look
  bool json = false;
};

// `stoker bench load`: reads safetensors files, or a set with its checksums, into new memory, and
// in turn the same bytes by the same requests alone, which is what the tier gives. Before
// each reading as much memory is written to and given back, so that a virtual machine's host has it
// at hand. Prints seconds, MB/s (of 10^6 bytes) and the share of the tier's rate; for an emulated
// tier beside the time that its rate makes ideal. Where a signal stopped it, it prints nothing and
// returns the exit code of the signal. Error(ExitCode::config) for an unknown tier; IoError;
// Error(ExitCode::storage) for damaged files. ExitCode::environment where everything had to be cold
// and nothing was.
ExitCode bench_load(const LoadBenchArguments& arguments);

}  // namespace stoker
