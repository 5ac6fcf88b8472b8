#include "app/train/stop_vote.h"

#include <algorithm>
#include <utility>

namespace stoker {

void StopVote::ask() {
  if (peers_.ranks().many()) pending_ = gather_values(peers_, signal_.number());
}

bool StopVote::agreed() {
  if (!peers_.ranks().many()) return signal_.requested();
  if (!pending_) return false;
  const std::vector<int> signals = std::exchange(pending_, nullptr)();
  const int signal = *std::max_element(signals.begin(), signals.end());
  if (signal != 0 && !signal_.requested()) signal_.adopt(signal);
  return signal != 0;
}

}  // namespace stoker
