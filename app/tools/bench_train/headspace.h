#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/base/command_line.h"
#include "app/experiment/experiment_options.h"
#include "io/core/error.h"
#include "io/dataset/dataset.h"
#include "io/decoder/decoder.h"
#include "io/storage/storage.h"

namespace stoker {

// One level of the headspace: the rate that is left when everything below it costs nothing. A
// value.
struct HeadspaceLevel {
  // "device", "decoded", "encoded", "page_cache", "cold"
  std::string name;
  // What was done, in words.
  std::string what;
  // One for each measured epoch. Empty where the level was not measured; then `absent` says why.
  std::vector<double> images_per_s;
  std::string absent;
  // It was calculated by an emulation and not measured.
  bool emulated = false;
  // What a reader of the rate has to know, a line each.
  std::vector<std::string> conditions;
};

// Which level the device waits for. A value.
struct HeadspaceVerdict {
  // The first level, from the top, that cannot feed the device; empty where all can.
  std::string binds_first;
  // The level that loses most of what the device could take, against the level above it; empty
  // where none loses any.
  std::string largest_drop;
  // The level above is this many times as fast; no rate counts as more than the device's.
  double drop = 1;
};
// levels: from the device down. Levels that were not measured are passed over.
HeadspaceVerdict judge(const std::vector<HeadspaceLevel>& levels);

// What `stoker headspace` is asked for. A value.
struct HeadspaceArguments : ConfigArguments {
  // Measured epochs of each level.
  int64_t epochs = 3;
  // Steps of the device in each measurement; there are as many measurements as epochs.
  int64_t steps = 20;
};

// Adds conditions to levels whose rounds differ, and to those below a slower one of which they do
// all of the work. Emulated levels are calculated; nothing is doubtful there.
void add_doubts(std::vector<HeadspaceLevel>& levels);

// All levels, from the device down, with what is doubtful in them. What is being measured goes to
// standard error.
std::vector<HeadspaceLevel> measure_headspace(const ExperimentOptions& experiment,
                                              const HeadspaceArguments& options);
// What `stoker headspace` prints.
std::string headspace_text(const HeadspaceArguments& arguments, const ExperimentOptions& experiment,
                           const std::vector<HeadspaceLevel>& levels,
                           const HeadspaceVerdict& verdict);
nlohmann::json headspace_json(const HeadspaceArguments& arguments,
                              const ExperimentOptions& experiment,
                              const std::vector<HeadspaceLevel>& levels,
                              const HeadspaceVerdict& verdict);

// `stoker headspace`: measures the rate of each level, from the device alone down to the cold tier,
// with the configured loader (except for the first level). Prints the rates and which level limits
// the run first. A level that cannot be measured here says why. What is being measured, and what
// the components remark, goes to standard error. Throws Error for what is wrong with the experiment
// itself, and IoError.
ExitCode headspace(const HeadspaceArguments& arguments);

// The configured components, changed so that one cost is gone: the levels of `stoker headspace`.
// All are pure functions of options and open nothing. Error(ExitCode::config) where there is no
// such component.

// The tier without what is only around it: an emulation, a cache.
Component<Storage> innermost(Component<Storage> tier);
// The tier without caches, but with its emulation: where the data come from at first.
Component<Storage> without_caches(Component<Storage> tier);

// The tier with up to `limit` bytes of its objects in memory, once they were read.
Component<Storage> with_copies_in_memory(const Component<Storage>& tier, uint64_t limit);

// The data set with all samples as pixels in memory, once they were read, up to `limit` bytes.
// tiers: the names of the configuration, which must include those of the data set.
Component<Dataset> decoded_in_memory(const Component<Dataset>& dataset,
                                     const Component<Decoder>& decoder, uint64_t limit,
                                     const std::vector<std::string>& tiers);
// The decoder of those, which has only augmentation left to do. spec: the samples of `decoder`,
// which have to be RGB squares.
Component<Decoder> for_pixels(const Component<Decoder>& decoder, const SampleSpec& spec);

}  // namespace stoker
