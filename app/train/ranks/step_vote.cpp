// How the ranks agree upon a step without waiting for one another, and how they stop together when
// a rank gets no data:
//
//  1. A rank takes its batch. A signal ends that wait; then the rank has no batch.
//  2. It sends its vote (ask()): whether it has a batch, the signal that it got, its clock, and how
//     long it waited for the exchange of gradients. The vote travels during the step.
//  3. It makes the step's forward and backward pass, which exchanges gradients. A rank without a
//     batch takes part in the exchange with zeros (TrainStep::stand_in), for the others may wait
//     there.
//  4. It takes the votes of all (counts()), which have arrived by then, because no exchange ends
//     before all have begun it. Where one had no batch, no rank updates its weights: all are at the
//     step before, and stop (TrainStep::undo).
//  5. Else the weights are updated. Where one had a signal, all stop here. The highest number of a
//     signal counts for all, so that all end with the same exit code.
//
// So a signal takes effect one step later than with one rank, unless a rank waits for data. An
// evaluation does the same batch by batch. A rank that waits for data and gets no signal holds up
// the others, as ever: then the time limit of the process ends those that were asked to stop.

#include "app/train/ranks/step_vote.h"

#include <algorithm>
#include <utility>

namespace stoker {

StepVote::StepVote(Peers& peers, StopSignal& signal) : peers_(peers), signal_(signal) {
  if (peers_.ranks().many()) take(gather_values(peers_, own(true, 0))());
}

StepVote::Said StepVote::own(bool has_batch, double exchanged_s) {
  const double before = std::exchange(exchanged_s_, exchanged_s);
  return {signal_.number(), has_batch, Clock::now().time_since_epoch().count(),
          exchanged_s - before};
}

bool StepVote::take(const std::vector<Said>& said) {
  now_ = TimePoint(Clock::duration(said.front().now));
  const auto least = std::ranges::min_element(said, {}, &Said::exchanged_s);
  const Said& own = said[static_cast<size_t>(peers_.ranks().rank)];
  waited_ = from_seconds(own.exchanged_s - least->exchanged_s);
  const Said& loudest = *std::ranges::max_element(said, {}, &Said::signal);
  stops_ = loudest.signal != 0;
  if (stops_ && !signal_.requested()) signal_.adopt(loudest.signal);
  const auto without = std::ranges::find(said, false, &Said::has_batch);
  without_batch_ = without - said.begin();
  return without == said.end();
}

void StepVote::ask(bool has_batch, double exchanged_s) {
  const Said said = own(has_batch, exchanged_s);
  if (peers_.ranks().many()) {
    pending_ = gather_values(peers_, said);
  } else {
    pending_ = [said] { return std::vector{said}; };
  }
}

bool StepVote::counts() { return take(std::exchange(pending_, nullptr)()); }

bool StepVote::stops() const { return peers_.ranks().many() ? stops_ : signal_.requested(); }

TimePoint StepVote::now() const { return peers_.ranks().many() ? now_ : Clock::now(); }

}  // namespace stoker
