#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "io/core/ranks/rank_group.h"
#include "io/core/ranks/ranks.h"

namespace stoker {

// The store at which the ranks of a training meet: small values by key, for all of them. One object
// is one connection, of one thread; clone() makes one for another. What cannot be done within the
// time-out is Error(ExitCode::device), for then a rank, or a host, is gone. A connection to a host
// that was cut off may hang for longer than any time-out: only a thread that nobody waits for uses
// it then.
class RankStore {
 public:
  virtual ~RankStore() = default;
  // Another connection, with a time-out of its own. Any thread may call it.
  virtual std::unique_ptr<RankStore> clone(std::chrono::milliseconds timeout) const = 0;
  virtual void set(const std::string& key, const std::string& value) = 0;
  // Empty: nobody has set it yet. Does not wait.
  virtual std::optional<std::string> find(const std::string& key) = 0;
  virtual void remove(const std::string& key) = 0;
};

// Says in the store, some times a second, that this process lives, and listens whether the others
// do: a collective that fails names no rank. A process that dies is seen at once by those of its
// machine (Neighbour), who tell the others. A thread with its own connection; where the store hangs
// it is left behind. The destructor says goodbye; a rank that failed has said why before.
class Heartbeat {
 public:
  // timeout: how long the connection to the store may take to answer, and another rank to beat.
  Heartbeat(const Ranks& ranks, const RankStore& store, std::chrono::milliseconds timeout);
  ~Heartbeat();

  // This rank ends. why: what the others are told, its error or nothing. Any thread.
  void leave(const std::string& why);
  // After a failure: who is gone and who has left, as far as a moment of waiting tells: "rank 2
  // (pid 17 on node3) is gone". Empty: nobody that is known of.
  std::string missing();
  // Without a failure, and without waiting: who has died or left. A rank of another machine that is
  // silent, as one that was suspended is, and a store that hangs are told after the time-out, as
  // long as a collective waits for them.
  std::string surely_missing();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

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
