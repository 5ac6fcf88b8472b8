#include "io/loader/arrivals.h"

#include <tuple>
#include <utility>

#include "io/loader/batch_job.h"

namespace stoker {

Arrivals::Reading Arrivals::begin(Place place) {
  const std::lock_guard lock(mutex_);
  return reading_.insert(reading_.end(), std::move(place));
}

Arrivals::Place Arrivals::arrive(Reading reading) {
  const auto order = [](const Place& place) { return std::tuple(place.job->index(), place.place); };
  const std::lock_guard lock(mutex_);
  for (auto other = reading_.begin(); other != reading_.end(); ++other) {
    // What another epoch draws for a sample is another crop of it.
    if (other->job->epoch() != reading->job->epoch()) continue;
    if (order(*other) < order(*reading)) std::swap(*other, *reading);
  }
  Place place = std::move(*reading);
  reading_.erase(reading);
  return place;
}

}  // namespace stoker
