#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "io/core/error.h"
#include "io/core/ranks/rank_group.h"

namespace stoker {

// Another process of the group failed at what all do in step; this one did not.
class OtherFailed final : public Error {
 public:
  OtherFailed(const std::string& what, bool again)
      : Error(ExitCode::storage, what), again_(again) {}
  // All may try again.
  bool again() const { return again_; }

 private:
  bool again_;
};

// What all processes that write a set do in step: one channel of their group, and the thread that
// it belongs to. The group must outlive it.
class Collective {
 public:
  // go_on: where it is false, waiting for the others ends (RankLost).
  Collective(RankGroup& group, const std::string& channel, std::function<bool()> go_on);

  bool first() const { return group_.first(); }
  RankGroup& group() const { return group_; }
  // Every process does `work`, and gets what each returned, in the order of the ranks. Where one
  // throws, all do: it its own exception, the others OtherFailed. `what` has to be the same on all.
  std::vector<std::string> all(const std::string& what, const std::function<std::string()>& work);
  // The same where only the first has something to do. Returns what that returned, on all.
  std::string first_only(const std::string& what, const std::function<std::string()>& work);

 private:
  RankGroup& group_;
  const std::string channel_;
  const std::function<bool()> go_on_;
};

}  // namespace stoker
