#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/base/config_arguments.h"
#include "io/core/error.h"

namespace stoker {

// What one save cost. Seconds.
struct SaveCost {
  double stall_s = 0;    // the trainer's thread was not free
  double saved_s = 0;    // from the begin until committed on the first tier
  double durable_s = 0;  // until verified on the last tier
  double memcpy_s = 0;   // of as many bytes, in the same round: the best of 1 and all threads
};

// A tier by itself, in the same rounds: as many bytes in 8 MiB pieces past the page cache by the
// same number of threads, written and synced, then read. Seconds.
struct TierCost {
  std::string tier;
  std::vector<double> write_s;
  std::vector<double> read_s;
};

// Times of all rounds, first save included.
struct CheckpointBenchmark {
  std::string type;
  std::string snapshot;
  std::string durability;
  std::string device;
  uint64_t set_bytes = 0;
  int64_t threads = 0;
  std::vector<SaveCost> saves;
  std::vector<double> drain_s;
  std::vector<double> load_s;  // read, verified and in memory, of the newest set on the last tier
  std::vector<TierCost> tiers;
};

struct CheckpointBenchArguments : ConfigArguments {
  int64_t rounds = 5;  // saves and loads
  bool json = false;
};

// Saves and loads the state of the experiment's model and optimizer, in a directory of its own,
// which is removed. Error(ExitCode::config) for checkpoint.type none.
CheckpointBenchmark measure_checkpoints(const CheckpointBenchArguments& arguments);

// `stoker bench checkpoint`: the same, and prints the result.
ExitCode bench_checkpoint(const CheckpointBenchArguments& arguments);

}  // namespace stoker
