#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/tools/import_dlio/workload.h"

namespace stoker {

// The machines on which a workload is to run. A value.
struct DlioMachines {
  uint64_t memory = 0;  // bytes of each
  int64_t hosts = 1;
  int64_t accelerators = 1;  // on all of them
};

// A rule of MLPerf Storage, and whether it is kept. A value.
struct DlioRule {
  std::string name;
  bool kept = false;
  std::string text;
};

// What MLPerf Storage (mlpstorage/rules.py, v2.0) asks of a training: data of five times the
// machines' memory, 500 steps in an epoch, and in the CLOSED division its own parameters but for
// those that may be changed. changed: the parameters that the command line sets. Pure; any thread.
std::vector<DlioRule> check_rules(const DlioWorkload& workload, const DlioMachines& machines,
                                  const std::vector<std::string>& changed);

// The memory of this machine, in bytes.
uint64_t memory_of_machine();

}  // namespace stoker
