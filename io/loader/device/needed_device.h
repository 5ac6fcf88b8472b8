#pragma once

#include "io/core/error.h"
#include "io/loader/loader.h"

namespace stoker {

// The device of a loader that works for one. Error(ExitCode::config) where nobody computes.
inline Device& needed_device(const Loader::Inputs& inputs) {
  if (inputs.device != nullptr) return *inputs.device;
  throw Error(ExitCode::config,
              "this loader moves batches to a device, and there is none here: set loader.type to "
              "prefetched");
}

}  // namespace stoker
