#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/base/config_arguments.h"
#include "io/core/error.h"

namespace stoker {

// One level of the headspace: the rate when everything below it costs nothing. A value.
struct HeadspaceLevel {
  // "device", "decoded", "encoded", "page_cache", "cold"
  std::string name;
  // What was done, in words.
  std::string what;
  // One per measured epoch; empty: not measured, and `absent` says why.
  std::vector<double> images_per_s;
  std::string absent;
  // Calculated by an emulation, not measured.
  bool emulated = false;
  // What a reader of the rate has to know, a line each.
  std::vector<std::string> conditions;
};

// Which level holds the device up. A value.
struct HeadspaceVerdict {
  // The first level, from the top, that cannot feed the device; empty: all can.
  std::string binds_first;
  // Where most of what the device could take is lost against the level above; empty: nowhere.
  std::string largest_drop;
  double drop = 1;  // so many times less; rates above the device's count as the device's
};
// levels: from the device down. Those that were not measured are passed over.
HeadspaceVerdict judge(const std::vector<HeadspaceLevel>& levels);

// What `stoker headspace` is asked for. A value.
struct HeadspaceArguments : ConfigArguments {
  // Measured, of each level.
  int64_t epochs = 3;
  // Of the device, in each of as many measurements.
  int64_t steps = 20;
};

// `stoker headspace`: from the device alone down to the cold tier, the rate of each level, by the
// configured loader (but for the first); prints them, and which of them binds first. A level that
// cannot be measured here says why. What is being measured, and what the components remark, goes to
// standard error. Throws Error for what is wrong with the experiment itself, and IoError.
ExitCode headspace(const HeadspaceArguments& arguments);

}  // namespace stoker
