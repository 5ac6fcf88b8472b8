#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "io/core/ranks/rank_store.h"
#include "io/core/ranks/ranks.h"

namespace stoker {

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

}  // namespace stoker
