#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/base/config_arguments.h"
#include "io/core/error.h"

namespace stoker {

// What `stoker bench decode` is asked for. A value.
struct DecodeBenchArguments : ConfigArguments {
  // Other decoders, types that take the options of the experiment's own.
  std::vector<std::string> versus;
  // So many, evenly through the training samples; 0: all. They are held in memory.
  int64_t samples = 0;
  // That count, after one that does not.
  int64_t rounds = 5;
};

// `stoker bench decode`: time per image of the experiment's decoder, and of others beside it, on
// one thread. The same training samples for all, read into memory beforehand; rounds interleaved.
// Prints the result. Error(ExitCode::config) for a type that does not take these options; BadSample
// for a file that cannot be decoded.
ExitCode bench_decode(const DecodeBenchArguments& arguments);

}  // namespace stoker
