#pragma once

#include <optional>

#include "app/run/stop_signal.h"
#include "io/distributed/peers.h"

namespace stoker {

// Whether the ranks stop: all of them after the same step, whichever was asked to. What each has to
// say travels beside a step's gradients, so it costs no time. With one rank it is the signal
// itself. The trainer's thread.
class StopVote {
 public:
  StopVote(Peers& peers, StopSignal& signal) : peers_(peers), signal_(signal) {}

  // Before a step (or a batch of the evaluation): says what this rank was asked for.
  void ask();
  // After it: whether a rank was. From then on every rank's signal says so.
  bool agreed();

 private:
  Peers& peers_;
  StopSignal& signal_;
  std::function<std::vector<int>()> pending_;
};

}  // namespace stoker
