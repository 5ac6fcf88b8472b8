#include "io/loader/lmdbio/group.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <functional>
#include <list>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "io/core/error.h"
#include "io/core/system/neighbours.h"

namespace stoker {

// What lies in the memory that the ranks of a group share, zeroed at first; each on cache lines of
// its own. Several processes write there at once, by std::atomic_ref.

struct alignas(64) GroupBarrier {
  uint32_t arrived = 0;
  uint32_t round = 0;
};
// What others have to know of a rank while they wait.
struct alignas(64) GroupRank {
  uint32_t left = 0;
  // How many meetings it has come to: those of all ranks, of readers, and of its node.
  uint32_t came[3] = {};
};
struct alignas(64) GroupMailbox {
  uint32_t full = 0;
  uint32_t bytes = 0;
  uint8_t message[Group::kMostMessage];
};
// What a rank says at a meeting, piece by piece.
struct alignas(64) GroupSaid {
  uint64_t bytes = 0;  // all of it
  uint8_t piece[(1 << 16) - 64];
};
struct alignas(64) GroupEnding {
  uint32_t state = kOn;
  char why[1020] = {};
  static constexpr uint32_t kOn = 0, kWriting = 1, kEnded = 2;
};
struct alignas(64) GroupFront {
  GroupEnding ending;
  GroupBarrier all;
  GroupBarrier readers;
};

namespace {

// Whoever sleeps looks after this time whether the others are still there.
constexpr long kLookNs = 50'000'000;

// Sleeps on a word in memory that several processes share, while it is `value` (futex(2)). Any
// thread. False: kLookNs have passed.
bool shared_wait(uint32_t& word, uint32_t value) {
  const timespec most{0, kLookNs};
  return ::syscall(SYS_futex, &word, FUTEX_WAIT, value, &most, nullptr, 0) == 0 ||
         errno != ETIMEDOUT;
}

// Wakes all who sleep on it.
void shared_wake(uint32_t& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// The machine of a place_of(), as far as processes see each other there.
std::string machine_of(const std::string& place) { return place.substr(0, place.rfind('/')); }
std::string process_of(const std::string& place) { return place.substr(place.rfind('/') + 1); }

}  // namespace

struct Group::Shared {
  Shard shard;
  int64_t node_size;
  RankGroup* others;  // and this rank
  std::string channel;
  std::vector<std::string> places;    // of the processes, by rank
  std::vector<Neighbour> neighbours;  // by rank
  std::list<SharedMemory> memories;   // the first holds what follows
  GroupFront* front = nullptr;
  GroupBarrier* node_barriers = nullptr;
  GroupMailbox* mailboxes = nullptr;  // from each node to each
  GroupSaid* said = nullptr;          // by rank
  GroupRank* ranks = nullptr;
  std::atomic<bool> leaving{false};

  int64_t nodes() const { return (shard.world + node_size - 1) / node_size; }
  int64_t node() const { return shard.rank / node_size; }
  size_t bytes() const {
    const auto many = static_cast<size_t>(nodes());
    return sizeof(GroupFront) + many * sizeof(GroupBarrier) + many * many * sizeof(GroupMailbox) +
           static_cast<size_t>(shard.world) * (sizeof(GroupSaid) + sizeof(GroupRank));
  }
  GroupMailbox& mailbox(int64_t from, int64_t to) { return mailboxes[from * nodes() + to]; }

  std::vector<std::string> meet(const std::string& own);
  void watch();
  std::span<uint8_t> share(size_t bytes, int64_t maker, bool alone);
  void lay_out(std::span<uint8_t> memory);
  void end(const std::string& why);
  void leave();
  // Ranks of the meetings of a kind that this one goes to.
  enum Kind { kAll, kReaders, kNode };
  bool member(Kind kind, int64_t rank) const {
    if (kind == kReaders) return rank % node_size == 0;
    return kind == kAll || rank / node_size == node();
  }
  // Says whether the wait is for this rank.
  using Awaited = std::function<bool(int64_t rank)>;
  struct Lost {
    std::string why;
    bool left;  // and nobody has failed
  };
  std::optional<Lost> look_around(const Awaited& awaited);
  template <class Ready>
  void wait(uint32_t& word, const Ready& ready, const Awaited& awaited);
  void pass(GroupBarrier& barrier, Kind kind);
};

// By the RankGroup until there is memory, and then by that: there nobody waits for a rank that
// failed.
std::vector<std::string> Group::Shared::meet(const std::string& own) {
  if (shard.world == 1) return {own};
  if (front == nullptr) return others->meet(channel, own);
  std::vector<std::string> all(static_cast<size_t>(shard.world));
  uint64_t most = 0;
  for (uint64_t at = 0; at == 0 || at < most; at += sizeof GroupSaid::piece) {
    GroupSaid& mine = said[shard.rank];
    mine.bytes = own.size();
    if (at < own.size()) {
      std::memcpy(mine.piece, &own[at], std::min(own.size() - at, sizeof mine.piece));
    }
    pass(front->all, kAll);
    for (size_t rank = 0; rank < all.size(); ++rank) {
      const GroupSaid& each = said[rank];
      most = std::max(most, each.bytes);
      const uint64_t left = each.bytes - std::min(each.bytes, at);
      all[rank].append(reinterpret_cast<const char*>(each.piece),
                       std::min(left, sizeof each.piece));
    }
    pass(front->all, kAll);
  }
  return all;
}

void Group::Shared::watch() {
  places = meet(place_of(::getpid()));
  for (size_t rank = 0; rank < places.size(); ++rank) {
    if (machine_of(places[rank]) != machine_of(places[0])) {
      throw Error(ExitCode::environment,
                  fmt::format("loader: rank {} runs on another machine, or in another container, "
                              "than rank 0, and ranks that read by lmdbio share memory: start them "
                              "all on one (`stoker launch`), or use another loader",
                              rank));
    }
    neighbours.emplace_back(places[rank]);
  }
}

// Memory that `maker` makes, and that this rank and perhaps others open. All of them call it
// together.
std::span<uint8_t> Group::Shared::share(size_t bytes, int64_t maker, bool alone) {
  if (alone) return memories.emplace_back(bytes, true).bytes();
  std::string trouble;
  const auto attempt = [&trouble](const auto& action) {
    try {
      action();
    } catch (const std::exception& error) {
      trouble = error.what();
    }
  };
  const bool own = maker == shard.rank;
  if (own) attempt([&] { memories.emplace_back(bytes); });
  const auto names = meet(own && trouble.empty() ? memories.back().name() : "");
  const std::string& name = names[static_cast<size_t>(maker)];
  if (!own && !name.empty()) attempt([&] { memories.emplace_back(name, bytes); });
  const auto troubles = meet(trouble);
  for (size_t rank = 0; rank < troubles.size(); ++rank) {
    if (troubles[rank].empty()) continue;
    throw Error(ExitCode::environment,
                fmt::format("loader: rank {} can't share memory with the others: {}", rank,
                            troubles[rank]));
  }
  if (own) memories.back().hide();
  return memories.back().bytes();
}

void Group::Shared::lay_out(std::span<uint8_t> memory) {
  front = reinterpret_cast<GroupFront*>(memory.data());
  node_barriers = reinterpret_cast<GroupBarrier*>(memory.data() + sizeof(GroupFront));
  mailboxes = reinterpret_cast<GroupMailbox*>(node_barriers + nodes());
  said = reinterpret_cast<GroupSaid*>(mailboxes + nodes() * nodes());
  ranks = reinterpret_cast<GroupRank*>(said + shard.world);
}

void Group::Shared::leave() {
  leaving = true;
  std::atomic_ref(ranks[shard.rank].left).store(1, std::memory_order_release);
}

void Group::Shared::end(const std::string& why) {
  // Who could not go on without a rank that left has not failed: others may need neither.
  if (leaving) return;
  GroupEnding& ending = front->ending;
  const std::atomic_ref state(ending.state);
  uint32_t on = GroupEnding::kOn;
  if (!state.compare_exchange_strong(on, GroupEnding::kWriting)) return;
  const size_t bytes = std::min(why.size(), sizeof ending.why - 1);
  std::memcpy(ending.why, why.data(), bytes);
  state.store(GroupEnding::kEnded, std::memory_order_release);
}

// Why the wait can't end. Nothing: it may. Others than those who are waited for may go: nobody
// needs what they would have done next.
std::optional<Group::Shared::Lost> Group::Shared::look_around(const Awaited& awaited) {
  if (std::string gone = others->gone(); !gone.empty()) return Lost{gone, false};
  const GroupEnding& ending = front->ending;
  if (std::atomic_ref(front->ending.state).load(std::memory_order_acquire) == GroupEnding::kEnded) {
    return Lost{{ending.why, ::strnlen(ending.why, sizeof ending.why)}, false};
  }
  if (leaving) return Lost{"this rank reads no further", true};
  for (int64_t rank = 0; rank < std::ssize(neighbours); ++rank) {
    if (!awaited(rank)) continue;
    const bool ended = neighbours[static_cast<size_t>(rank)].ended();
    if (std::atomic_ref(ranks[rank].left).load(std::memory_order_acquire) != 0) {
      return Lost{fmt::format("rank {} reads no further", rank), true};
    }
    if (!ended) continue;
    return Lost{fmt::format("rank {} (process {}) has died, or ended, while ranks read together",
                            rank, process_of(places[static_cast<size_t>(rank)])),
                false};
  }
  return std::nullopt;
}

// Waits until ready(word) is true. If it already is, this does not wait, whatever has become of the
// others.
template <class Ready>
void Group::Shared::wait(uint32_t& word, const Ready& ready, const Awaited& awaited) {
  std::optional<Lost> lost;
  for (;;) {
    const uint32_t now = std::atomic_ref(word).load(std::memory_order_acquire);
    // Whoever is lost may have done it before.
    if (ready(now)) return;
    if (lost) break;
    if (!shared_wait(word, now)) lost = look_around(awaited);
  }
  if (lost->left) {
    leave();
  } else {
    end(lost->why);
  }
  throw Error(ExitCode::device, "loader: " + lost->why);
}

void Group::Shared::pass(GroupBarrier& barrier, Kind kind) {
  const std::atomic_ref arrived(barrier.arrived), round(barrier.round);
  const uint32_t before = round.load();
  uint32_t members = 0;
  for (int64_t rank = 0; rank < shard.world; ++rank) members += member(kind, rank) ? 1 : 0;
  const bool last = arrived.fetch_add(1) + 1 == members;
  std::atomic_ref(ranks[shard.rank].came[kind]).store(before + 1);
  if (last) {
    arrived.store(0);
    round.store(before + 1);
    shared_wake(barrier.round);
    return;
  }
  wait(
      barrier.round, [before](uint32_t now) { return now != before; },
      [&](int64_t rank) {
        return member(kind, rank) && std::atomic_ref(ranks[rank].came[kind]).load() != before + 1;
      });
}

Group::Group(Shard shard, int64_t node_size, RankGroup& ranks, const std::string& channel)
    : shared_(std::make_unique<Shared>()) {
  Shared& own = *shared_;
  own.shard = shard;
  own.node_size = node_size;
  own.others = &ranks;
  own.channel = channel;
  if (shard.world > 1) {
    if (ranks.size() != shard.world) {
      throw Error(ExitCode::config,
                  "loader: ranks that read by lmdbio have to talk to one another, and these can't: "
                  "start them by `stoker launch`, or use another loader");
    }
    own.watch();
  }
  own.lay_out(own.share(own.bytes(), 0, shard.world == 1));
}

Group::~Group() {
  if (shared_->front != nullptr) shared_->leave();
}

int64_t Group::rank() const { return shared_->shard.rank; }
int64_t Group::world() const { return shared_->shard.world; }
int64_t Group::node() const { return shared_->node(); }
int64_t Group::nodes() const { return shared_->nodes(); }
bool Group::reads() const { return rank() % shared_->node_size == 0; }

std::vector<std::string> Group::meet(const std::string& own) { return shared_->meet(own); }

void Group::end(const std::string& why) { shared_->end(why); }

void Group::leave() { shared_->leave(); }

std::span<uint8_t> Group::share_with_node(size_t bytes) {
  const bool alone = std::min(shared_->node_size, world()) == 1;
  return shared_->share(bytes, node() * shared_->node_size, alone);
}

void Group::meet_node() { shared_->pass(shared_->node_barriers[node()], Shared::kNode); }

void Group::meet_readers() { shared_->pass(shared_->front->readers, Shared::kReaders); }

void Group::send(int64_t to_node, Bytes message) {
  if (message.size() > kMostMessage) throw std::length_error("a message to another node");
  GroupMailbox& box = shared_->mailbox(node(), to_node);
  shared_->wait(
      box.full, [](uint32_t full) { return full == 0; },
      [&](int64_t rank) { return rank == to_node * shared_->node_size; });
  std::memcpy(box.message, message.data(), message.size());
  box.bytes = static_cast<uint32_t>(message.size());
  std::atomic_ref(box.full).store(1, std::memory_order_release);
  shared_wake(box.full);
}

std::vector<uint8_t> Group::receive(int64_t from_node) {
  GroupMailbox& box = shared_->mailbox(from_node, node());
  shared_->wait(
      box.full, [](uint32_t full) { return full != 0; },
      [&](int64_t rank) { return rank == from_node * shared_->node_size; });
  const size_t bytes = std::min<size_t>(box.bytes, kMostMessage);
  std::vector<uint8_t> message(box.message, box.message + bytes);
  std::atomic_ref(box.full).store(0, std::memory_order_release);
  shared_wake(box.full);
  return message;
}

}  // namespace stoker
