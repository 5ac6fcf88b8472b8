#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/core/error.h"

namespace stoker {

struct DeviceBatch;

// A sample that could not be used, and the one that stands in its place.
struct SkippedSample {
  int64_t epoch = 0;
  int64_t batch = 0;
  std::string key;
  BadReason reason = BadReason::corrupt;
  std::string message;
  std::string replaced_by;
};

// What producing the batch cost its workers, summed over its samples.
struct LoadCost {
  int64_t read_ns = 0;
  int64_t decode_ns = 0;
  int64_t bytes_read = 0;
};

// One batch in host memory: `size` samples as SampleSpec says and their labels. A value with
// shared ownership: the slot goes back to its loader when the last copy is destroyed (any thread),
// so hold a batch no longer than the device reads it.
struct Batch {
  int64_t epoch = 0;
  int64_t index = 0;  // within the epoch
  int64_t size = 0;
  std::shared_ptr<uint8_t> pixels;  // size * SampleSpec::bytes(), pinned where the device is a GPU
  std::shared_ptr<std::vector<int64_t>> labels;
  std::string digest;  // XXH3-128 of pixels and labels in hex, where loader.digest asks for it
  std::vector<SkippedSample> skipped;
  LoadCost cost;
  std::shared_ptr<DeviceBatch>
      on_device;  // set by device_prefetched: the copy is under way or done
};

}  // namespace stoker
