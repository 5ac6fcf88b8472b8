// How the ranks agree to stop after the same step, without waiting for one another:
//
//  1. Before step n a rank sends its vote (ask()): the signal that it got, its clock, and how long
//     it waited for the exchange of gradients. The vote travels during the step.
//  2. Before step n + 1 it takes the votes of all ranks (agreed()), which have arrived by then. If
//     one has a signal, every rank sees that now and stops here. The highest signal number counts
//     for all, so that all end with the same exit code.
//
// A signal therefore takes effect one step later than with one rank.

#include "app/train/step_vote.h"

#include <algorithm>
#include <utility>

namespace stoker {

StepVote::StepVote(Peers& peers, StopSignal& signal) : peers_(peers), signal_(signal) {
  if (peers_.ranks().many()) take(gather_values(peers_, own(0))());
}

StepVote::Said StepVote::own(double exchanged_s) {
  const double before = std::exchange(exchanged_s_, exchanged_s);
  return {signal_.number(), Clock::now().time_since_epoch().count(), exchanged_s - before};
}

void StepVote::take(const std::vector<Said>& said) {
  now_ = TimePoint(Clock::duration(said.front().now));
  const auto least = std::ranges::min_element(said, {}, &Said::exchanged_s);
  const Said& own = said[static_cast<size_t>(peers_.ranks().rank)];
  waited_ = from_seconds(own.exchanged_s - least->exchanged_s);
  const Said& loudest = *std::ranges::max_element(said, {}, &Said::signal);
  if (loudest.signal != 0 && !signal_.requested()) signal_.adopt(loudest.signal);
}

void StepVote::ask(double exchanged_s) {
  if (peers_.ranks().many()) pending_ = gather_values(peers_, own(exchanged_s));
}

bool StepVote::agreed() {
  if (!peers_.ranks().many()) return signal_.requested();
  if (!pending_) return false;
  const std::vector<Said> said = std::exchange(pending_, nullptr)();
  take(said);
  return std::ranges::any_of(said, [](const Said& one) { return one.signal != 0; });
}

TimePoint StepVote::now() const { return peers_.ranks().many() ? now_ : Clock::now(); }

}  // namespace stoker
