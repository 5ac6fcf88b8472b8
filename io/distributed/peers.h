#pragma once

#include <ATen/core/Tensor.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "io/core/ranks/rank_group.h"
#include "io/core/ranks/ranks.h"
#include "io/distributed/distributed_options.h"

namespace stoker {

// Makes the gradients of all ranks one: after backward() every rank has their mean. The trainer's
// thread. Error(ExitCode::device) where a rank fails or is gone.
class GradientExchange {
 public:
  virtual ~GradientExchange() = default;
  // Before each forward pass that a backward() follows.
  virtual void before_forward() = 0;
  // Backward from this loss. The exchange of what is there goes on meanwhile; it has ended when
  // this returns (on a GPU: is queued).
  virtual void backward(const at::Tensor& loss) = 0;
  // In place of both on a rank that has no loss: it gives zeros, so that the others' backward()
  // ends. Their mean is of no use then.
  virtual void stand_in() = 0;
};

// What each rank gave, in the order of the ranks. To be called once; blocks until all have given.
using Gathered = std::function<std::vector<std::string>()>;

// The ranks of a training, as one of them sees the others: a RankGroup that has collectives for
// tensors, too. What follows is for the trainer's thread; all ranks make the same calls in the same
// order. Whatever fails is RankLost and says which rank is gone, as far as it is known; after it
// only the destructor is of use.
class Peers : public RankGroup {
 public:
  explicit Peers(Ranks ranks) : RankGroup(ranks.rank, ranks.world), ranks_(std::move(ranks)) {}
  const Ranks& ranks() const { return ranks_; }
  // This rank ends now, with this error (empty: without one), and the others may say so. Any
  // thread.
  virtual void leave(const std::string& why) = 0;
  // Begins to gather bytes. All ranks give as many.
  virtual Gathered gather(const std::string& own) = 0;
  // Copies the values of rank `from` into the same tensors of all others. They are on the host, or
  // on the device of the gradients.
  virtual void broadcast_tensors(const std::vector<at::Tensor>& tensors, int64_t from = 0) = 0;
  // Joins the gradients of these parameters. ready: called on the thread of backward() when the
  // last gradient is there, and only the exchange is left. Null where there is one rank.
  virtual std::unique_ptr<GradientExchange> exchange(const std::vector<at::Tensor>& parameters,
                                                     std::function<void()> ready) = 0;

 private:
  const Ranks ranks_;
};

// One process by itself: every call is its own answer, and costs nothing.
std::unique_ptr<Peers> no_peers();

// Meets the others: blocks until all are there, at most for options.timeout.
// Error(ExitCode::device) names those that are missing.
std::unique_ptr<Peers> meet_peers(const Ranks& ranks, const DistributedOptions& options);

// gather() of plain values.
template <class T>
std::function<std::vector<T>()> gather_values(Peers& peers, const T& own) {
  static_assert(std::is_trivially_copyable_v<T>);
  return [gathered = peers.gather({reinterpret_cast<const char*>(&own), sizeof own})] {
    std::vector<T> values;
    for (const std::string& bytes : gathered()) {
      T value;
      std::memcpy(&value, bytes.data(), sizeof value);
      values.push_back(value);
    }
    return values;
  };
}

}  // namespace stoker
