#pragma once

#include <ATen/core/Tensor.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "io/distributed/distributed_options.h"
#include "io/distributed/gradients.h"
#include "io/distributed/store.h"

namespace stoker {

class Heartbeat;

// What each rank gave, in the order of the ranks. To be called once; blocks until all have given.
using Gathered = std::function<std::vector<std::string>()>;

// The ranks of a training, as one of them sees the others. The trainer's thread, where nothing else
// is said; all ranks make the same calls in the same order. Whatever fails is
// Error(ExitCode::device) and says which rank is gone, as far as it is known; after it only the
// destructor is of use.
class Peers {
 public:
  // heartbeat: of this rank; null: there is one rank. It must live until the destructor.
  Peers(Ranks ranks, Heartbeat* heartbeat) : ranks_(std::move(ranks)), heartbeat_(heartbeat) {}
  virtual ~Peers() = default;
  const Ranks& ranks() const { return ranks_; }
  // Which ranks have died or left, while nothing has failed yet; empty: none that is known of. Any
  // thread; does not wait.
  std::string gone() const;
  // This rank ends now, with this error (empty: without one), and the others may say so. Any
  // thread.
  void leave(const std::string& why) const;
  // Begins to gather bytes, as many of every rank.
  virtual Gathered gather(const std::string& own) = 0;
  // The values of rank `from`, to the same tensors of all others. They are on the host, or on the
  // device of the gradients.
  virtual void broadcast(const std::vector<at::Tensor>& tensors, int64_t from = 0) = 0;
  // For the gradients of these parameters. ready: called on the thread of backward() when the last
  // gradient is there, and only the exchange is left. Null where there is one rank.
  virtual std::unique_ptr<GradientExchange> exchange(const std::vector<at::Tensor>& parameters,
                                                     std::function<void()> ready) = 0;
  // Says something on a channel, waits until all ranks have said something there, and returns it in
  // the order of the ranks. Any thread, but a channel belongs to one. Without a time-out: the
  // others may read a large checkpoint meanwhile, but they have to live, and go_on() has to say
  // true.
  virtual std::vector<std::string> meet(const std::string& channel, const std::string& own,
                                        const std::function<bool()>& go_on) = 0;

 private:
  const Ranks ranks_;
  Heartbeat* const heartbeat_;
};

// One process by itself: every call is its own answer, and costs nothing.
std::unique_ptr<Peers> no_peers();

// Meets the others: blocks until all are there, at most for options.timeout.
// Error(ExitCode::device) names those that are missing.
std::unique_ptr<Peers> meet_peers(const Ranks& ranks, const DistributedOptions& options);

// Rank 0's text, to all ranks, when all have come so far.
std::string share(Peers& peers, const std::string& text);

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
