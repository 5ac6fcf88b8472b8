#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "io/metrics/checkpoint_meter.h"
#include "io/metrics/run_totals.h"

namespace stoker {

// How fast a drain may copy beside a training: so that the input becomes slower by at most 1 %,
// and the copy is done before the next save is due. Where both cannot be had the save wins, for
// with sets that pile up on the fast tier there are soon none. Pure: it has no clock, and waits for
// nothing. One thread at a time.
//
// The rule (additive increase, multiplicative decrease, as TCP has it):
//
//   usual   the trainer's share of waiting while nothing was drained, and how full its queue of
//           batches was; newer seconds weigh more
//   extra   of a decision's time: waiting beyond what `usual` makes of the rest of it
//   debt    += extra - 0.5 % of that time; never below -25 ms, so that a quiet hour does not excuse
//           a bad second. Half of what is allowed, as a decision comes after the harm
//   floor   bytes left / time left
//
//   debt > 0 and more waiting than allowed, or the queue is down to a quarter of what is usual and
//   gets no fuller                           limit / 2; from then on half of the old one is safe
//   debt > 0, or half of the usual queue     limit stays until that is made good
//   else, and the drain waited for it        limit * 5/4 below what is safe or where nothing is
//                                            known to be unsafe, else + 1/16 of what is safe
//   in any case                              limit >= floor, and at least 4 MB/s
//
// A decision needs a quarter of a second of training. Drains begin with half of the limit that the
// one before ended with.
class DrainController {
 public:
  static constexpr double kAllowed = 0.01;
  static constexpr double kSlowest = 4e6;

  // Training while nothing was drained.
  void rested(InputTime input);

  // What has yet to be moved: bytes, and the seconds until then; absent: whenever.
  struct Left {
    double bytes = 0;
    std::optional<double> due_s;
  };
  // A drain begins.
  void begin(const Left& left);
  // While it lasts: what passed since the last call. Decides something where that is due.
  struct Passed {
    bool limited = false;  // the drain had to wait for the limit
    InputTime input;
  };
  std::optional<DrainDecision> passed(const Passed& passed, const Left& left);

  // What may be moved, in bytes/s; infinite where time is up.
  double limit() const { return limit_ > floor_ ? limit_ : floor_; }
  // By how much the input was slower than usual since begin(), as a share; absent: not known.
  std::optional<double> slowdown() const;

 private:
  double extra(InputTime input) const;
  void set_floor(const Left& left);
  DrainDecision decide();

  InputTime usual_;  // weighted sums
  double limit_ = kSlowest;
  double floor_ = 0;
  double safe_ = std::numeric_limits<double>::infinity();
  double debt_ = 0;    // seconds
  Passed since_;       // the last decision
  double filled_ = 0;  // the queue, then
  InputTime drained_;  // since begin(), of what was decided on
  double extra_ = 0;
};

}  // namespace stoker
