#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/core/batch.h"
#include "io/decoder/decoder.h"

namespace stoker {

// Looks at the first batches of an epoch and gives numbers that other programs print too, so that
// loaders can be seen to do the same work. Copies the first batch. One thread.
class BatchProbe {
 public:
  // spec: the samples in the batches.
  explicit BatchProbe(const SampleSpec& spec) : spec_(spec) {}

  // Takes the epoch's batches in their order. Returns false where it needs no more: eight were
  // seen, or their pixels are on the device only, or they are frames that the device has to resize.
  bool see(const Batch& batch);

  // The mean of all values of the batches, as they are after normalising by ImageNet's mean and
  // deviation. Absent where no batch was seen.
  std::optional<double> mean() const;
  // The shape of the first batch: {N, H, W, C}, or {N, C, H, W} where samples are float32. Empty
  // where no batch was seen.
  std::vector<int64_t> shape() const;
  // "NHWC uint8", "NCHW float32" or "frames".
  std::string layout() const;
  // Writes the first batch as a NumPy file (.npy), which is whole under its name or not there. Not
  // for frames. Throws IoError.
  void dump(const std::string& path) const;

 private:
  // Samples are planes of float32; else they are pixels of uint8.
  bool floats() const;
  // Adds the values of one sample, without its target.
  void add(Bytes values);

  const SampleSpec spec_;
  int64_t seen_ = 0;
  // The number of samples in the first batch, and their bytes.
  int64_t first_size_ = 0;
  std::vector<uint8_t> first_;
  double sum_ = 0;
  int64_t count_ = 0;
};

}  // namespace stoker
