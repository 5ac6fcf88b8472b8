#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/base/command_line.h"
#include "io/core/error.h"

namespace stoker {

// What `stoker tune` is asked for. A value.
struct TuneArguments : ConfigArguments {
  // For the whole search.
  double seconds = 60;
  // The least memory with 99 % of the best rate.
  bool least_memory = false;
  // Only settings that leave every loss as it was.
  bool same_results = false;
  // Data in another form or place: overrides that lead to them.
  std::vector<std::string> alternatives;
  // For the experiment with what was chosen; empty: none.
  std::string write;
};

// `stoker tune`: chooses the loader, its workers and batches ahead, where the data come from, in
// which order, and what of them is kept, for the most images/s of this training on this machine.
// One run says what the stages cost, the simulator says what many settings would do, and few short
// runs decide. Prints the settings, the rate with its interval, and what holds it back. Runs are
// child processes, and leave nothing. One thread. Error(ExitCode::config) for what is wrong with
// the experiment; ExitCode::environment where nothing could be measured in this time;
// ExitCode::sigint or sigterm where a signal ended it.
ExitCode tune(const TuneArguments& arguments);

}  // namespace stoker
