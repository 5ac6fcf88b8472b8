#pragma once

#include <string>
#include <vector>

#include "io/core/error.h"
#include "io/dataset/shards/sharded_options.h"
#include "io/storage/storage.h"

namespace stoker {

// The objects that are trained on and those that are tested on, each in the order in which their
// samples are numbered. A value.
struct ShardChoice {
  std::vector<ObjectInfo> train;
  std::vector<ObjectInfo> test;
};

// Takes them by the patterns and the split of the options. What can hardly be meant is a remark:
// shards that are named and not there, shards named for tests among those that train, no test
// where one was asked for. Error(ExitCode::environment) where no shard trains, with the objects
// that are there; ExitCode::config where some shards train and test. IoError. Any thread.
ShardChoice choose_shards(const Storage& tier, const ShardedOptions& options, const Notify& notify);

// The patterns that a pattern with braces stands for, as in bash: {a,b} is a or b, {000..009} each
// number of three digits, {a..c} each letter, {0..9..3} every third; they may be nested. Braces
// that say neither, and those behind a backslash, stay. Without braces it is the pattern itself.
// Error(ExitCode::config) where it stands for more than a million. Pure; any thread.
std::vector<std::string> expand_braces(const std::string& pattern);

}  // namespace stoker
