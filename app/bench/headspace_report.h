#pragma once

#include "app/base/config_arguments.h"
#include "app/bench/headspace.h"
#include "io/core/error.h"

namespace stoker {

struct HeadspaceArguments : ConfigArguments {
  HeadspaceOptions options;
  bool json = false;
};

// `stoker headspace`: prints the rates of all levels, and which of them binds first.
ExitCode headspace(const HeadspaceArguments& arguments);

}  // namespace stoker
