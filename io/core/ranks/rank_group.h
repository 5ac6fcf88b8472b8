#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/core/error.h"

namespace stoker {

// Another rank is gone, or waiting for it was given up. The others may have done what all were
// doing, or not.
class RankLost final : public NoRetry {
 public:
  explicit RankLost(const std::string& what) : NoRetry(ExitCode::device, what) {}
};

// The processes of one training, as one of them sees the others. One process by itself is a group,
// too. All ranks make the same calls in the same order, for each channel by itself.
class RankGroup {
 public:
  RankGroup(int64_t rank, int64_t size) : rank_(rank), size_(size) {}
  virtual ~RankGroup() = default;
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;
  int64_t rank() const { return rank_; }
  int64_t size() const { return size_; }
  bool first() const { return rank_ == 0; }

  // Says `own` on a channel, waits until all ranks have said something there, and returns what they
  // said, in the order of the ranks. It takes some milliseconds: it is not for every batch. Any
  // thread, but a channel belongs to one. It waits for as long as the others live and go_on() is
  // true, for they may read a large checkpoint meanwhile. RankLost where that ends; Interrupted.
  virtual std::vector<std::string> meet(
      const std::string& channel, const std::string& own,
      const std::function<bool()>& go_on = [] { return true; }) = 0;
  // Which ranks have died or left, while nothing has failed yet. Empty: no such rank is known, and
  // of course where there is one rank. Any thread; does not wait.
  virtual std::string gone() const { return ""; }
  // Copies the bytes of rank `from` into those of all others. All give as many. One thread of the
  // process, always the same one. RankLost.
  virtual void broadcast(std::span<uint8_t> bytes, int64_t from);

 private:
  const int64_t rank_;
  const int64_t size_;
};

// A process by itself: every call is its own answer, and costs nothing.
RankGroup& alone();

// Rank 0's text, to all ranks, when all have come so far. As RankGroup::meet.
std::string share(RankGroup& group, const std::string& text);

// What a rank was told, or has found: values by their names, which are unique.
using Facts = std::vector<std::pair<std::string, std::string>>;

// Compares the facts of all ranks. Returns what differs, in words, the same on every rank, in the
// order of rank 0's facts: "optimizer.lr: 0.001 on rank 0, but 0.5 on rank 1". Empty: nothing does,
// and then no more than a digest was exchanged. All ranks have heard it before one of them returns.
// The trainer's thread; errors as RankGroup::meet.
std::string disagreement(RankGroup& group, const Facts& own);

}  // namespace stoker
