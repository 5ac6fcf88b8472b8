#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/core/batch.h"
#include "io/decoder/decoder.h"

namespace stoker {

// Looks at the first batches of an epoch, so that loaders can be seen to do the same work: what
// they hold, in numbers that other programs print too. One thread.
class BatchProbe {
 public:
  explicit BatchProbe(const SampleSpec& spec) : spec_(spec) {}

  // The epoch's batches in order. False: no more are needed, because eight were seen, or because
  // their pixels are on the device only.
  bool see(const Batch& batch);

  // Of the batches seen: the mean of all values, as they are after normalising by ImageNet's mean
  // and deviation. Absent: none was seen.
  std::optional<double> mean() const;
  // Of the first batch: {N, H, W, C}, or {N, C, H, W} where samples are float32.
  std::vector<int64_t> shape() const;
  std::string layout() const;  // "NHWC uint8" or "NCHW float32"
  // The first batch as a NumPy file. Throws IoError.
  void dump(const std::string& path) const;

 private:
  bool floats() const;

  const SampleSpec spec_;
  int64_t seen_ = 0;
  int64_t first_size_ = 0;
  std::vector<uint8_t> first_;
  double sum_ = 0;
  int64_t count_ = 0;
};

}  // namespace stoker
