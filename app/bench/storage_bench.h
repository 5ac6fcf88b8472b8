#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/base/config_arguments.h"
#include "app/bench/storage.h"
#include "io/core/config.h"
#include "io/core/error.h"

namespace stoker {

struct StorageBenchArguments : ConfigArguments {
  std::string tier;  // its name under storage:
  std::vector<int64_t> threads{1, 2, 4, 8};
  ByteSize block_size{64 << 20};     // of each thread
  ByteSize transfer_size{1 << 20};   // of one read or write
  std::string pattern = "sequential";  // or "random"
  std::string op = "read";           // or "write", "both"
  StorageWorkload workload;          // the rest of it
  int64_t rounds = 3;                // after one that does not count
  bool file_per_thread = true;       // as without workload.shared
  bool fit = false;                  // find the emulated tier that behaves like this one
  bool json = false;
};

// `stoker bench storage`: bandwidth, IOPS and latency of one tier over threads. Prints the result;
// nothing where a signal stopped it. Throws Error and IoError.
ExitCode bench_storage(const StorageBenchArguments& arguments);

}  // namespace stoker
