#include "io/loader/sample_files.h"

#include <numeric>
#include <unordered_map>

namespace stoker {

SampleFiles::SampleFiles(const Dataset& dataset, Split split)
    : samples_(static_cast<size_t>(dataset.size(split))) {
  std::vector<size_t> places;  // of a sample's file among the files
  std::unordered_map<int64_t, size_t> known;
  for (int64_t i = 0; i < std::ssize(samples_); ++i) {
    const int64_t file = dataset.info(split, i).file;
    const size_t next = begins_.size() - 1;
    places.push_back(file < 0 ? next : known.try_emplace(file, next).first->second);
    if (places.back() == next) begins_.push_back(0);
    ++begins_[places.back() + 1];
  }
  std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
  std::vector<size_t> at = begins_;
  for (size_t i = 0; i < samples_.size(); ++i) samples_[at[places[i]]++] = static_cast<int64_t>(i);
}

}  // namespace stoker
