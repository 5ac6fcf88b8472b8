#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "app/run/stop_signal.h"
#include "io/distributed/peers.h"
#include "io/metrics/clock.h"

namespace stoker {

// What the ranks agree upon at every step: whether they stop, all of them after the same step,
// whichever was asked to; and what time it is. What each has to say travels beside a step's
// gradients, so it costs no time. With one rank it is the signal and the clock themselves. The
// trainer's thread.
class StepVote {
 public:
  StepVote(Peers& peers, StopSignal& signal);

  // Before a step (or a batch of the evaluation): says what this rank was asked for.
  void ask();
  // After it: whether a rank was. From then on every rank's signal says so.
  bool agreed();
  // Rank 0's clock, as of the last vote.
  TimePoint now() const;

 private:
  struct Said {
    int signal;
    int64_t now;
  };
  Said own() const;
  void take(const std::vector<Said>& said);

  Peers& peers_;
  StopSignal& signal_;
  TimePoint now_;
  std::function<std::vector<Said>()> pending_;
};

}  // namespace stoker
