#include "io/core/ranks/store_group.h"

#include <fmt/format.h>

#include "io/core/interruption.h"

namespace stoker {

StoreGroup::StoreGroup(const Ranks& ranks, const RankStore& store,
                       std::chrono::milliseconds timeout)
    : RankGroup(ranks.rank, ranks.world),
      ranks_(ranks),
      store_(store),
      timeout_(timeout),
      heartbeat_(ranks, store, timeout) {}

std::vector<std::string> StoreGroup::meet(const std::string& name, const std::string& own,
                                          const std::function<bool()>& go_on) {
  try {
    return channel(name).meet(own, [&] {
      throw_if_interrupted();
      if (!go_on()) throw RankLost("no longer waiting for the other ranks");
      const std::string missing = heartbeat_.surely_missing();
      if (!missing.empty()) throw lost(missing);
    });
  } catch (const RankLost&) {
    throw;
  } catch (const Error& error) {
    fail(error.what());
  }
}

std::string StoreGroup::gone() const { return heartbeat_.surely_missing(); }

void StoreGroup::leave(const std::string& why) { heartbeat_.leave(why); }

void StoreGroup::fail(const std::string& what) {
  const std::string missing = heartbeat_.missing();
  throw lost(missing.empty() ? what : missing);
}

RankLost StoreGroup::lost(const std::string& why) const {
  return RankLost(fmt::format("rank {} of {}: {}", rank(), size(), why));
}

Channel& StoreGroup::channel(const std::string& name) {
  const std::lock_guard lock(mutex_);
  return channels_.try_emplace(name, ranks_, store_, name, timeout_).first->second;
}

}  // namespace stoker
