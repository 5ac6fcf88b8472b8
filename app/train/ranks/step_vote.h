#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "app/process/stop_signal.h"
#include "io/distributed/peers.h"
#include "io/metrics/clock.h"

namespace stoker {

// What the ranks agree upon at every step: whether it counts, whether it is the last one, and what
// time it is. The votes travel together with a step's gradients, so they cost no time. With one
// rank it is the signal and the clock themselves. The trainer's thread.
class StepVote {
 public:
  // All ranks make it at once: one that was asked to stop before tells the others here.
  StepVote(Peers& peers, StopSignal& signal);

  // Call it when a step, or a batch of the evaluation, begins. Tells the others whether this rank
  // has a batch for it, what it was asked for, and how long it has waited until now for exchanges
  // of gradients, in seconds.
  void ask(bool has_batch, double exchanged_s = 0);
  // Call it once after that, when nothing but the update is left. Waits for the votes of all.
  // Returns whether all have a batch: otherwise the step counts on no rank. From then on every
  // rank's signal says what any of them was asked for.
  bool counts();
  // What was agreed upon last: no further step begins.
  bool stops() const;
  // A rank that had no batch for the last step: its state is the one before that step. Only where
  // the step does not count.
  int64_t without_batch() const { return without_batch_; }
  // The time on rank 0's clock at the last vote.
  TimePoint now() const;
  // How much longer than the least of all ranks this one has waited between the last two votes: the
  // rank that comes last waits only for the exchange itself.
  Clock::duration waited_for_peers() const { return waited_; }

 private:
  struct Said {
    int signal;
    bool has_batch;
    int64_t now;
    double exchanged_s;  // since the vote before
  };
  Said own(bool has_batch, double exchanged_s);
  bool take(const std::vector<Said>& said);

  Peers& peers_;
  StopSignal& signal_;
  TimePoint now_;
  Clock::duration waited_{};
  double exchanged_s_ = 0;  // when it was asked last
  bool stops_ = false;      // with many ranks
  int64_t without_batch_ = 0;
  std::function<std::vector<Said>()> pending_;
};

}  // namespace stoker
