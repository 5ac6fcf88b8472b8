#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "io/dataset/dataset.h"

namespace stoker {

// The samples of a split, file by file: what SampleInfo::file says, turned round. Immutable; any
// thread.
class SampleFiles {
 public:
  // No files.
  SampleFiles() = default;
  // Asks the data set for each of its samples once.
  SampleFiles(const Dataset& dataset, Split split);

  int64_t count() const { return std::ssize(begins_) - 1; }
  // The samples of file `file` in [0, count()), in the data set's order. Files are in the order of
  // their first samples.
  std::span<const int64_t> of(int64_t file) const {
    const auto i = static_cast<size_t>(file);
    return std::span(samples_).subspan(begins_[i], begins_[i + 1] - begins_[i]);
  }

 private:
  std::vector<int64_t> samples_;
  std::vector<size_t> begins_{0};  // in samples_, and the end
};

}  // namespace stoker
