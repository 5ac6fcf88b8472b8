#pragma once

#include <string>
#include <vector>

#include "io/core/config/registry.h"
#include "io/experiment/experiment_data.h"

namespace stoker {

// The device of an experiment, for loaders that put batches on one. It needs LibTorch and is in a
// library of its own, which is loaded when one is made. One thread.
class BenchDevice {
 public:
  static constexpr const char* kKind = "bench device";
  struct Inputs {
    // The experiment file and its overrides.
    const std::string& config;
    const std::vector<std::string>& overrides;
  };
  virtual ~BenchDevice() = default;
  // What a loader of training samples needs of it. Valid while the device lives.
  virtual LoaderUse use() = 0;
  virtual std::string name() const = 0;
};

template <>
Registry<BenchDevice>& Registry<BenchDevice>::global();

// Opens the experiment's device where its loader puts batches on one; null: it does not.
// Error(ExitCode::config) as read_experiment(), or where the library is missing.
std::unique_ptr<BenchDevice> bench_device(const LoaderInfo& loader,
                                          const BenchDevice::Inputs& experiment);

// What a loader needs of that device, or of the host's memory where there is none.
LoaderUse loader_use(const std::unique_ptr<BenchDevice>& device);

}  // namespace stoker
