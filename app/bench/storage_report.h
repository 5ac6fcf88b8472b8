#pragma once

#include <string>
#include <vector>

#include "app/bench/storage_fit.h"

namespace stoker {

// What all figures of one `stoker bench storage` have in common: their conditions.
struct StorageBenchInfo {
  std::string tier;
  std::string type;
  bool emulated = false;
  bool direct = false;   // of the files that were opened
  int64_t overruns = 0;  // of an emulated tier
  std::vector<std::string> conditions;
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
