#pragma once

#include "io/metrics/clock.h"
#include "io/metrics/record_read_meter.h"

namespace stoker {

// Adds the time from here to its end to RecordReadCosts::waiting_s. One thread.
class Waiting {
 public:
  explicit Waiting(RecordReadMeter& meter) : meter_(meter), begin_(Clock::now()) {}
  ~Waiting() {
    RecordReadCosts costs;
    costs.waiting_s = std::chrono::duration<double>(Clock::now() - begin_).count();
    meter_.add(costs);
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  RecordReadMeter& meter_;
  const TimePoint begin_;
};

}  // namespace stoker
