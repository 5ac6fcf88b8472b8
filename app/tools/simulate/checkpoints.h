#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "app/tools/simulate/event_queue.h"
#include "app/tools/simulate/inputs.h"
#include "app/tools/simulate/machine.h"

namespace stoker {

// The checkpoints of a run: the program's rule says which are due, ranks write their parts of a set
// to the first tier, rank 0 commits it; with a burst buffer each rank then drains its part, oldest
// set first, and verifies it. As in io/checkpoint: snapshot memory for `slots` sets, block or skip
// where all are taken. Failures, retention and a hanging tier are not modelled. One thread.
class SimulatedCheckpoints {
 public:
  // Both must outlive it. first_owner: the first owner number of its requests.
  SimulatedCheckpoints(const SimulationInputs& inputs, SimulatedTiers& tiers, EventQueue& events,
                       size_t first_owner);

  bool due(const CheckpointOffer& offer, SimTime now) const;
  // Begins a save that is due; the trainers wait until resumes() is there.
  void save(const CheckpointOffer& offer, SimTime now);
  // When the trainers go on; nothing: not known yet.
  std::optional<SimTime> resumes() const { return resumes_; }
  // Nothing is being saved or drained.
  bool at_rest() const { return saves_.empty() && drains_.empty(); }

  // A request of owner has got through, or will at `end`.
  void passed(size_t owner, SimTime end) {
    events_.add(end, SimEventKind::checkpoint, owner - first_owner_);
  }
  // By an event of kind `checkpoint`.
  void go_on(size_t chain, SimTime now);

  int64_t saved() const { return saved_; }
  int64_t skipped() const { return skipped_; }
  int64_t drained() const { return drained_; }
  double save_s() const { return sim_seconds(save_time_); }    // sum, from offer to commit
  double drain_s() const { return sim_seconds(drain_time_); }  // sum

 private:
  // One thread's operations, one after the other: those that move nothing, then pieces.
  struct Chain {
    size_t tier = 0;
    int64_t rank = 0;
    int64_t operations_left = 0;
    TierOperation::Kind kind = TierOperation::Kind::write;
    uint64_t offset = 0, bytes_left = 0;
    bool drains = false;
  };
  enum class Phase { begun, opened, written, synced, committed };
  struct Save {
    int64_t step;
    SimTime offered;
  };
  size_t chain_of(int64_t rank, int64_t thread) const {
    return static_cast<size_t>(rank * per_rank_ + thread);
  }
  size_t drain_of(int64_t rank) const { return chain_of(rank, threads_); }
  uint64_t own_bytes(int64_t rank) const;
  void begin_save(SimTime now);
  void begin_phase(Phase phase, SimTime now);
  void begin_operations(int64_t rank, int64_t count, SimTime now);
  void begin_writing(SimTime now);
  void save_chain_ended(SimTime now);
  void committed(SimTime now);
  void begin_drain(SimTime now);
  void drain_chain_ended(SimTime now);
  void next(size_t number, SimTime now);

  const bool on_;
  const bool burst_;
  const CheckpointOptions options_;
  const SimulatedSet set_;
  const int64_t ranks_, ranks_per_node_, threads_;
  const int64_t per_rank_;  // chains: writing threads, and the drain
  const size_t first_owner_;
  SimulatedTiers& tiers_;
  EventQueue& events_;
  size_t first_ = 0, last_ = 0;  // tiers
  std::vector<Chain> chains_;
  std::optional<SimTime> resumes_;
  std::deque<Save> saves_;      // the first one is being written
  std::deque<SimTime> drains_;  // when each was queued; the first one is being drained
  Phase phase_ = Phase::begun;
  int64_t chains_left_ = 0;  // in this phase
  bool verifying_ = false;
  int64_t drains_left_ = 0;
  SimTime drain_begun_ = 0, part_begun_ = 0, last_begun_ = 0;
  int64_t saved_ = 0, skipped_ = 0, drained_ = 0;
  SimTime save_time_ = 0, drain_time_ = 0;
};

}  // namespace stoker
