#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "io/dataset/dataset.h"
#include "io/dataset/shards/shard_writer.h"

namespace stoker {

// A sample that does not read as it was written. A value.
struct UnlikeSample {
  size_t shard = 0;  // index in WrittenSet::shards
  std::string key;   // as its source calls it
  std::string how;   // "its label is 2, not 3"
};

// What comparing found. A value.
struct WrittenComparison {
  // The first one in the order of the samples; absent: all are as they were written.
  std::optional<UnlikeSample> unlike;
  // The data set has the samples in the order in which they were written.
  bool same_order = true;
};

// Compares a data set with what was written. A sample is the same where
//   - it has its place: in the order of its split, or, for a format that has an order of its own,
//     by its name;
//   - its key is what the format says of it (ShardFormatWriter::name_of), but for an image's
//     extension and the folders before it;
//   - its label is the same, and the name of its class;
//   - its bytes are the same, by number and XXH3-64.
// Reads every sample with this many threads. progress gets the number of samples that are done; one
// thread at a time calls it, and it may throw to stop. A sample whose reading throws Error, IoError
// or BadSample counts as different.
WrittenComparison compare_written(const Dataset& dataset, const WrittenSet& written,
                                  const ShardFormatWriter& writer, const WritableInfo& info,
                                  int64_t threads, const std::function<void(int64_t)>& progress);

}  // namespace stoker
