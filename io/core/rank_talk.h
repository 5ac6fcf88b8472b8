#pragma once

#include <functional>
#include <string>
#include <vector>

namespace stoker {

// How the loaders of a training's ranks talk to one another when they begin, and learn that one of
// them is gone. A value; its functions may be called by any thread, each channel by one. Both
// empty: there is one rank.
struct RankTalk {
  // Says something on a channel, waits until all ranks have said something there, and returns it in
  // the order of the ranks. Some milliseconds: not for every batch. Error(ExitCode::device) where a
  // rank is gone.
  std::function<std::vector<std::string>(const std::string& channel, const std::string& own)> meet;
  // Which ranks have died or left. Empty: as far as is known, all are there. Does not wait.
  std::function<std::string()> gone;
};

}  // namespace stoker
