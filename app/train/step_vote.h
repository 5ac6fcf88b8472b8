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

  // Before a step (or a batch of the evaluation): says what this rank was asked for, and how long
  // it has waited until now for exchanges of gradients, in seconds.
  void ask(double exchanged_s = 0);
  // After it: whether a rank was. From then on every rank's signal says so.
  bool agreed();
  // Rank 0's clock, as of the last vote.
  TimePoint now() const;
  // How much longer than the least of all ranks this one has waited between the last two votes: who
  // comes last does not wait for the others, but for the exchange alone.
  Clock::duration waited_for_peers() const { return waited_; }

 private:
  struct Said {
    int signal;
    int64_t now;
    double exchanged_s;  // since the vote before
  };
  Said own(double exchanged_s);
  void take(const std::vector<Said>& said);

  Peers& peers_;
  StopSignal& signal_;
  TimePoint now_;
  Clock::duration waited_{};
  double exchanged_s_ = 0;  // when it was asked last
  std::function<std::vector<Said>()> pending_;
};

}  // namespace stoker
