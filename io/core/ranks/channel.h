#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/core/ranks/rank_store.h"
#include "io/core/ranks/ranks.h"

namespace stoker {

// The place where all ranks say something and hear what each of them has said, one meeting after
// the other. One thread. It never waits for the store itself: a thread of each meeting does, and is
// left behind where the store hangs.
class Channel {
 public:
  // store: it makes a connection of its own to it, with this time-out.
  Channel(const Ranks& ranks, const RankStore& store, std::string name,
          std::chrono::milliseconds timeout);

  // Says `own`, and returns what the ranks have said, in their order. while_waiting is called many
  // times a second, and what it throws ends the waiting, unless all have said something by then.
  // Error(ExitCode::device) where the store fails.
  std::vector<std::string> meet(const std::string& own, const std::function<void()>& while_waiting);

 private:
  struct Meeting;
  const Ranks ranks_;
  const RankStore& to_;
  const std::string name_;
  const std::chrono::milliseconds timeout_;
  std::shared_ptr<RankStore> store_;  // null: to be made anew
  int64_t meetings_ = 0;
  std::string before_;  // the key of what this rank said last
};

}  // namespace stoker
