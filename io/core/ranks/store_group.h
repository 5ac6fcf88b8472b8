#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "io/core/ranks/channel.h"
#include "io/core/ranks/heartbeat.h"
#include "io/core/ranks/rank_group.h"
#include "io/core/ranks/rank_store.h"
#include "io/core/ranks/ranks.h"

namespace stoker {

// The ranks that have met at a store. Each has a heartbeat there, so that those who wait at a
// meeting see that the others live, and an error names the rank that is gone. It needs no library
// of collectives.
class StoreGroup final : public RankGroup {
 public:
  // store: must outlive it. timeout: how long each connection to the store may take to answer.
  StoreGroup(const Ranks& ranks, const RankStore& store, std::chrono::milliseconds timeout);

  std::vector<std::string> meet(const std::string& channel, const std::string& own,
                                const std::function<bool()>& go_on) override;
  std::string gone() const override;
  // This rank ends now, with this error (empty: without one), and the others may say so. Any
  // thread.
  void leave(const std::string& why);
  // What all were doing has failed. Throws RankLost, which names the ranks that are gone, as far as
  // a moment of waiting tells, and else says `what`. Any thread.
  [[noreturn]] void fail(const std::string& what);

 private:
  Channel& channel(const std::string& name);
  RankLost lost(const std::string& why) const;

  const Ranks ranks_;
  const RankStore& store_;
  const std::chrono::milliseconds timeout_;
  mutable Heartbeat heartbeat_;
  std::mutex mutex_;
  std::map<std::string, Channel> channels_;
};

}  // namespace stoker
