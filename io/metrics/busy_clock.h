#pragma once

#include <atomic>
#include <cstdint>

#include "io/metrics/clock.h"

namespace stoker {

// How long something was going on: the union of the times between begin() and end(), of any number
// of threads at once. Any thread; no lock. Pairs may overlap and nest; each begin() needs its
// end().
class BusyClock {
 public:
  // Something begins at `now`, a reading of Clock that is not older than the object. At most 65 535
  // may be under way at once.
  void begin(TimePoint now);
  // Something that begin() was called for ends at `now`. Which one does not matter.
  void end(TimePoint now);
  // The union so far; what is still going on counts up to `now`.
  Clock::duration total(TimePoint now) const;

 private:
  // How many are at it (16 bits) and since when (48 bits, units of 64 ns: 208 days), in one word,
  // so that whoever ends the last one knows when the first began.
  uint64_t ticks(TimePoint time) const;
  const TimePoint origin_ = Clock::now();
  // Nobody at it where the count is 0; the time beside it is old then.
  std::atomic<uint64_t> state_{0};
  std::atomic<uint64_t> total_{0};  // ticks
};

}  // namespace stoker
