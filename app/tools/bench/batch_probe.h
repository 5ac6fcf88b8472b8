#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/core/batch.h"
#include "io/decoder/decoder.h"

namespace stoker {

// Looks at the first batches of an epoch, so that loaders can be seen to do the same work: what
// they hold, in numbers that other programs print too. Copies the first batch. One thread.
class BatchProbe {
 public:
  // spec: of the decoder whose samples are in the batches.
  explicit BatchProbe(const SampleSpec& spec) : spec_(spec) {}

  // The epoch's batches in order. False: no more are needed, because eight were seen, or because
  // their pixels are on the device only, or frames that it has to resize.
  bool see(const Batch& batch);

  // Of the batches seen: the mean of all values, as they are after normalising by ImageNet's mean
  // and deviation. Absent: none was seen.
  std::optional<double> mean() const;
  // Of the first batch: {N, H, W, C}, or {N, C, H, W} where samples are float32. Empty: none was
  // seen.
  std::vector<int64_t> shape() const;
  // "NHWC uint8", "NCHW float32" or "frames".
  std::string layout() const;
  // The first batch as a NumPy file (.npy), whole under its name or not there. Not of frames.
  // Throws IoError.
  void dump(const std::string& path) const;

 private:
  // Samples are float32, planes of a channel; else uint8, pixel by pixel.
  bool floats() const;
  // Of one sample, without its target.
  void add(Bytes values);

  const SampleSpec spec_;
  int64_t seen_ = 0;
  // The first batch: how many samples, and their bytes.
  int64_t first_size_ = 0;
  std::vector<uint8_t> first_;
  double sum_ = 0;
  int64_t count_ = 0;
};

}  // namespace stoker
