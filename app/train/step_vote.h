#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "app/run/stop_signal.h"
#include "io/distributed/peers.h"
#include "io/metrics/clock.h"

namespace stoker {

// What the ranks agree upon at every step: whether they stop, which all do after the same step
// whichever of them was asked, and what time it is. The votes travel together with a step's
// gradients, so they cost no time. With one rank it is the signal and the clock themselves. The
// trainer's thread.
class StepVote {
 public:
  StepVote(Peers& peers, StopSignal& signal);

  // Call it before a step, or a batch of the evaluation. Sends what this rank was asked for, and
  // how long it has waited until now for exchanges of gradients, in seconds.
  void ask(double exchanged_s = 0);
  // Call it after the step. Returns whether any rank was asked to stop. From then on every rank's
  // signal says so.
  bool agreed();
  // The time on rank 0's clock at the last vote.
  TimePoint now() const;
  // How much longer than the least of all ranks this one has waited between the last two votes: the
  // rank that comes last waits only for the exchange itself.
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
