#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/core/ranks/rank_group.h"
#include "io/core/system/memory.h"
#include "io/loader/loader.h"

namespace stoker {

// The ranks of one machine that read together, as one of them sees it: memory that they share
// (memfd, so that nothing of it stays when they are gone), barriers, and messages from node to
// node. The first rank of each node is its reader. All ranks make the same calls in the same order,
// each by one thread. A rank that died ends every wait: Error(ExitCode::device), which names it;
// and so does a rank that ends the group.
class Group {
 public:
  // Meets the others. channel: a name that all use for this group alone. ranks: all of the
  // training; it must outlive this group. Error(ExitCode::environment) where the ranks are on
  // several machines, or can't share memory; ExitCode::config where the shard has several ranks,
  // and `ranks` others than those.
  Group(Shard shard, int64_t node_size, RankGroup& ranks, const std::string& channel);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  // This rank has failed: ends the waits of all ranks, now and later, that what has been done so
  // far does not end, with this message. The first one stands. Any thread.
  void end(const std::string& why);
  // This rank goes on no further: ends its waits, and those of others for it; what has been done so
  // far still counts. The destructor does so, too. Any thread.
  void leave();

  int64_t rank() const;
  int64_t world() const;
  int64_t node() const;
  int64_t nodes() const;
  bool reads() const;  // the first of its node

  // What each rank says, in their order, when all have said something.
  std::vector<std::string> meet(const std::string& own);
  // Memory that all ranks of the node share, zeroed; valid as long as the group. All ranks have to
  // call it together, with equal `bytes`. Pages cost memory once they are touched.
  std::span<uint8_t> share_with_node(size_t bytes);
  // The first waits until all ranks of the node have called it, the second until all readers of the
  // group have. Only readers call the second.
  void meet_node();
  void meet_readers();
  // Readers alone: a message of up to kMostMessage bytes to the reader of another node (or the same
  // one), which takes it. One is on its way at a time from one reader to another; a second waits.
  static constexpr size_t kMostMessage = 2048;
  void send(int64_t to_node, Bytes message);
  std::vector<uint8_t> receive(int64_t from_node);

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

}  // namespace stoker
