#pragma once

#include <cstdint>

#include "io/loader/lmdbio/group.h"

// What lies in the memory that the ranks of a group share, zeroed at first; each on cache lines of
// its own. Several processes write there at once, by std::atomic_ref.

namespace stoker {

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

}  // namespace stoker
