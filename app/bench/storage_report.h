#pragma once

#include <string>
#include <vector>

#include "app/bench/storage_fit.h"
#include "io/metrics/tier_meter.h"

namespace stoker {

// What all figures of one `stoker bench storage` have in common: their conditions.
struct StorageBenchInfo {
  std::string tier;
  std::string type;
  bool emulated = false;  // it, or a part of it
  bool direct = false;    // of the files that were opened
  std::vector<TierMeter::State> parts;
};

// The rounds of one number of threads, in the order they ran.
struct StorageResult {
  StorageWorkload workload;
  std::vector<StorageRound> rounds;
};

// On standard output, as a table or as one line of JSON. MB are 10^6 bytes. Rounds that do not
// count are listed and give no bandwidth.
void print_storage(const StorageBenchInfo& info, const std::vector<StorageResult>& results,
                   bool json);
void print_storage_fit(const StorageBenchInfo& info, const StorageWorkload& like,
                       const StorageFit& result, bool json);

}  // namespace stoker
