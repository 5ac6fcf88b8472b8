#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/dataset/shards/shard_index.h"

namespace stoker {

// Makes each sample's label the place of its class among the classes, and gives these. names: by
// label; empty: the samples say the classes, by numbers from `first` on or else by names. A sample
// whose class is unknown, or none of these, becomes a bad one without a label. rule: ShardFormat's.
// Error as numbered_classes() and check_first_label() (io/dataset/class_names.h). Any thread.
std::vector<std::string> label_samples(std::span<ShardSample* const> samples,
                                       std::vector<std::string> names, int64_t first,
                                       const std::string& rule);

}  // namespace stoker
