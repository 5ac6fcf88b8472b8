#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>

namespace stoker {

class BatchJob;

// Which place of which batch a sample is for, where batches are filled by whatever is ready
// (loader.in_order: false). Any thread.
//
// A worker begins to read a sample for the place that it claimed. When the bytes are there, it
// takes the oldest place of that epoch for which others are still reading, and whoever was to fill
// that one gets its own place instead. So each sample has one place, each place gets one sample,
// and one that is slow moves on to later batches, until it is the last of its epoch.
class Arrivals {
 public:
  struct Place {
    std::shared_ptr<BatchJob> job;
    int64_t place = 0;
  };
  // A sample that is being read. Valid until it has arrived.
  using Reading = std::list<Place>::iterator;

  // The place is one that was claimed, for which nobody else reads.
  Reading begin(Place place);
  // Once: the place that the sample is for now.
  Place arrive(Reading reading);

 private:
  std::mutex mutex_;
  std::list<Place> reading_;
};

}  // namespace stoker
