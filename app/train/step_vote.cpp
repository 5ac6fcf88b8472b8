#include "app/train/step_vote.h"

#include <algorithm>
#include <utility>

namespace stoker {

StepVote::StepVote(Peers& peers, StopSignal& signal) : peers_(peers), signal_(signal) {
  if (peers_.ranks().many()) take(gather_values(peers_, own())());
}

StepVote::Said StepVote::own() const {
  return {signal_.number(), Clock::now().time_since_epoch().count()};
}

void StepVote::take(const std::vector<Said>& said) {
  now_ = TimePoint(Clock::duration(said.front().now));
  const Said& loudest = *std::ranges::max_element(said, {}, &Said::signal);
  if (loudest.signal != 0 && !signal_.requested()) signal_.adopt(loudest.signal);
}

void StepVote::ask() {
  if (peers_.ranks().many()) pending_ = gather_values(peers_, own());
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
