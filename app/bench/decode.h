#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/base/config_arguments.h"
#include "io/core/error.h"

namespace stoker {

struct DecodeBenchArguments : ConfigArguments {
  std::vector<std::string> versus;  // other decoders, types that take the same options
  int64_t samples = 0;              // 0: all
  int64_t rounds = 5;
  bool json = false;
};

// `stoker bench decode`: time per image of the experiment's decoder, and of others beside it, on
// one thread. The same training samples for all, read into memory beforehand; rounds interleaved.
// Prints the result. Throws Error.
ExitCode bench_decode(const DecodeBenchArguments& arguments);

}  // namespace stoker
