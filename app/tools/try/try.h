#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/base/command_line.h"
#include "app/tools/bench_train/headspace.h"
#include "app/tools/data/inspect.h"
#include "io/core/config/node.h"
#include "io/core/error.h"

namespace stoker {

// What `stoker try` is asked for. `config`: a folder of data, or a shard. Overrides change the
// experiment that is made. A value.
struct TryArguments : ConfigArguments {
  // Where the experiment is written. Empty: NAME.yaml here, with the name of the folder.
  std::string to;
};

// `stoker try`: says what is in a folder, which decoder takes it, how fast each level of this
// machine is with it, and in one sentence what that means; and writes the experiment by which it
// found that. An existing file is not replaced, unless it holds just this. Error as own_data(),
// read_experiment() and headspace(); ExitCode::environment where the file exists or cannot be
// written.
ExitCode try_data(const TryArguments& arguments);

// An experiment of a user's own data, with what was found by looking at them. Pure functions.

// The experiment with batches that the data set can fill; and where it has bad samples, with a
// budget for them.
void fit_to_data(const DatasetReport& report, Node& experiment);

// Overrides for measuring with fewer samples where the data set is large, and what is then
// measured, in words. Nothing where it is small, or where its type has no such option.
struct SmallerData {
  std::vector<std::string> overrides;
  std::string text;
};
SmallerData smaller_data(const DatasetReport& report, const Node& experiment);

// What the levels of `stoker headspace` mean for someone who has data and this machine: one
// sentence, which says what binds, by which figures, and what would change it. A pure function.
std::string own_sentence(const std::vector<HeadspaceLevel>& levels);

}  // namespace stoker
