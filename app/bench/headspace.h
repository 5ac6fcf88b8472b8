#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/base/config_arguments.h"
#include "io/core/error.h"
#include "io/core/notify.h"

namespace stoker {

struct ExperimentOptions;

// One level of the headspace: the rate when everything below it costs nothing.
struct HeadspaceLevel {
  std::string name;  // "device", "decoded", "encoded", "page_cache", "cold"
  std::string what;
  std::vector<double> images_per_s;  // one per measured epoch; empty: not measured
  std::string absent;                // why
  bool emulated = false;             // calculated, not measured
  std::vector<std::string> conditions;
};

struct HeadspaceVerdict {
  // The first level, from the top, that cannot feed the device; empty: all can.
  std::string binds_first;
  // Where most of what the device could take is lost against the level above; empty: nowhere.
  std::string largest_drop;
  double drop = 1;  // so many times less; rates above the device's count as the device's
};
HeadspaceVerdict judge(const std::vector<HeadspaceLevel>& levels);

struct HeadspaceOptions {
  int64_t epochs = 3;  // measured, of each level
  int64_t steps = 20;  // of the device, in each of as many measurements
};

// From the device alone down to the cold tier; each with the configured loader, but the first. A
// level that cannot be measured here says why. `notify`: what is being measured now, and what the
// components remark. Throws Error for what is wrong with the experiment itself.
std::vector<HeadspaceLevel> measure_headspace(const ExperimentOptions& experiment,
                                              const HeadspaceOptions& options,
                                              const Notify& notify);

struct HeadspaceArguments : ConfigArguments {
  HeadspaceOptions options;
  bool json = false;
};

// `stoker headspace`: prints the rates of all levels, and which of them binds first.
ExitCode headspace(const HeadspaceArguments& arguments);

}  // namespace stoker
