#pragma once

#include <string>

#include "app/base/command_line.h"
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

}  // namespace stoker
