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
