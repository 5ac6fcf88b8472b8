#pragma once

#include "app/experiment/experiment_options.h"
#include "io/core/error.h"
#include "io/device/device.h"

namespace stoker {

// LibTorch's generator, threads and determinism, as the experiment says. Once, before anything of
// the run is computed; the trainer's thread. std::system_error where its threads cannot be had.
void set_up_torch(const ExperimentOptions& options, const DeviceInfo& device, const Notify& warn);

}  // namespace stoker
