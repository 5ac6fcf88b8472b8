#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/core/error.h"

namespace stoker {

// `stoker import-dlio`.
struct ImportDlioArguments {
  std::string config;
  std::vector<std::string> overrides;
  std::string to;
  std::string data;
  std::string generate;
  std::string run;
  std::optional<double> memory;  // GiB of a machine
  int64_t hosts = 1;
  int64_t accelerators = 1;
  bool json = false;
};

// Prints the workload as an experiment, or writes it to `to`; says what is otherwise than in DLIO,
// and which of MLPerf's rules it does not keep. With `generate` it writes the data first; with
// `run` it computes the AU of a run of that experiment instead. Errors as those that it calls.
ExitCode import_dlio(const ImportDlioArguments& arguments);

}  // namespace stoker
