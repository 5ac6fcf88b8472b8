#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/core/error.h"

namespace stoker {

struct DeviceBatch;

// A sample that could not be used, and the one that replaced it. A value. One row of skipped.csv.
struct SkippedSample {
  int64_t epoch = 0;
  // Index of the batch within the epoch.
  int64_t batch = 0;
  // Object key of the bad sample, as its data set names it.
  std::string key;
  BadReason reason = BadReason::corrupt;
  // what() of the BadSample: names the file and what was expected.
  std::string message;
  // Key of the sample whose pixels and label stand in the batch; a function of (seed, epoch,
  // index), so every loader picks the same one.
  std::string replaced_by;
};

// A damaged sample that its decoder turned into pixels all the same (decoder.tolerance). A value.
struct ToleratedSample {
  // As its data set names it.
  std::string key;
  // DecoderSession::tolerated().
  std::string message;
};

// What producing the batch cost its workers, summed over its samples and over all threads that
// worked on it: with several workers the sum may exceed the wall time. A value.
struct LoadCost {
  // Nanoseconds in Dataset::read.
  int64_t read_ns = 0;
  // Nanoseconds in DecoderSession::decode, resizing and augmentation included.
  int64_t decode_ns = 0;
  // Encoded bytes, bad samples included.
  int64_t bytes_read = 0;
};

// One batch in host memory: `size` samples as SampleSpec says, and their labels.
//
// A value with shared ownership: copying it copies pointers. The slot goes back to its loader when
// the last copy is destroyed, so hold a batch no longer than the device reads it.
//
// Any thread may copy and destroy batches. The pixels are written before the loader hands the batch
// out and never changed afterwards; treat them as read-only.
struct Batch {
  int64_t epoch = 0;
  // The number of the batch in the epoch, from 0.
  int64_t index = 0;
  // Samples of this rank. As many as those of its other batches, but in the last batch of an epoch
  // without drop_last.
  int64_t size = 0;
  // The samples of all ranks.
  int64_t whole = 0;
  // There is nothing left of the whole for this rank: its one sample is another rank's, and counts
  // nowhere. It is there so that all ranks make the same steps.
  bool filler = false;
  std::shared_ptr<uint8_t> pixels;  // size * SampleSpec::bytes(), pinned where the device is a GPU
  std::shared_ptr<std::vector<int64_t>> labels;
  // XXH3-128 of each sample's pixels and label, 16 bytes each, where loader.digest asks for them.
  std::string digests;
  // Bad samples of this batch, in the order of their places. Empty in nearly all batches.
  std::vector<SkippedSample> skipped;
  // Damaged samples that are in this batch, in the order of their places.
  std::vector<ToleratedSample> tolerated;
  LoadCost cost;
  std::shared_ptr<DeviceBatch>
      on_device;  // set by device_prefetched: the copy is under way or done
};

}  // namespace stoker
