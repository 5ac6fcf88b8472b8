#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "app/tools/simulate/event_queue.h"
#include "app/tools/simulate/machine.h"
#include "app/tools/simulate/samples.h"
#include "io/loader/sampler.h"

namespace stoker {

// The loaders of all ranks: workers that claim the places of batches, oldest batch first, as
// io/loader/pipeline.h says; `sync` is one worker that works while the trainer waits. One thread.
//
// Where neither a tier nor cores are modelled, nobody meets anybody, and a batch's end is
// calculated when it is begun, exactly; else a sample (or a whole file) is some events. Failed
// samples are not modelled.
class SimulatedLoaders {
 public:
  // All must outlive it. Owners of requests are the workers, from 0 to workers().
  SimulatedLoaders(const SimulationInputs& inputs, const SizesOnly& sizes, SimulatedTiers& tiers,
                   SimulatedCores& cores, EventQueue& events);

  // Workers of all ranks.
  size_t workers() const { return workers_.size(); }
  // Batches of an epoch.
  int64_t batches() const { return orders_.batches(); }
  // Samples of a rank's part of a batch, and of the whole batch.
  int64_t part(int64_t rank, int64_t batch) const { return orders_.size(rank, batch); }
  int64_t whole(int64_t batch) const { return orders_.part(0, batch).whole; }

  // Begins what is read ahead of the first batch.
  void start(SimTime now);
  // When the trainer's next batch is, or was, complete; nothing: that is not known yet. Without
  // read-ahead it is begun by this. Batches in their order.
  std::optional<SimTime> ask(int64_t rank, int64_t batch, SimTime now);
  // When a batch is known to be complete, without asking for it.
  std::optional<SimTime> ready(int64_t rank, int64_t batch) const;
  // Notes that the trainer has got the batch.
  void taken(int64_t rank, int64_t batch, SimTime now);
  // When its copy to the device ends. Only for loaders that copy ahead.
  bool copies_ahead() const { return device_ahead_ > 0; }
  SimTime copied(int64_t rank, int64_t batch) const { return slot(rank, batch).copied; }

  // A request of a worker has got through, or will at `end`.
  void read(size_t worker, SimTime end);
  // What a worker computes has ended.
  void computed(size_t worker, SimTime now);
  // By an event of kind `item`. The rank whose batch it has completed.
  std::optional<int64_t> go_on(size_t worker, SimTime now);

  // Time of cores for reading and decoding, all nodes together.
  double core_s() const;
  // Times of the workers of all ranks together.
  double read_s() const { return sim_seconds(read_); }
  double decode_s() const { return sim_seconds(decode_); }
  // Time in which at least one sample was under way. Not known if nobody meets anybody.
  double read_union_s() const { return sim_seconds(union_); }
  uint64_t cached_bytes() const { return cached_bytes_; }

 private:
  // A batch on its way.
  struct Slot {
    int32_t left = 0;       // samples that are not done
    SimTime complete = -1;  // in host memory; below 0: not known yet
    SimTime ready = -1;     // for the trainer
    SimTime copied = 0;
    std::vector<int32_t> claims;  // as BatchJob's
  };
  struct Rank {
    int64_t submitted = 0;
    int64_t claim_batch = 0;
    int64_t claim_place = 0;
    int64_t taken = 0;
    int64_t copied = 0;  // batches that the copying thread has got
    SimTime copy_free = 0;
    int64_t file = -1;  // in memory
    std::vector<uint32_t> idle;
  };
  // What a worker is doing.
  struct Worker {
    int64_t batch = 0;
    int32_t samples = 0;
    int32_t metadata_left = 0;
    int32_t requests_left = 0;
    uint64_t object = 0, offset = 0, bytes_left = 0;
    SimTime begun = 0, read = 0;  // since when; when its tier was done
    enum class Phase : uint8_t { reading, computing, computed } phase = Phase::reading;
  };
  Slot& slot(int64_t rank, int64_t batch) {
    return slots_[static_cast<size_t>(rank * ring_ + batch % ring_)];
  }
  const Slot& slot(int64_t rank, int64_t batch) const {
    return slots_[static_cast<size_t>(rank * ring_ + batch % ring_)];
  }
  bool meets() const { return tier_ || cores_.limited(); }
  int64_t rank_of(size_t worker) const { return static_cast<int64_t>(worker) / per_rank_; }
  void submit(int64_t rank, SimTime now);
  SimTime fill(int64_t rank, int64_t samples, SimTime now);
  void copy_ahead(int64_t rank, SimTime now);
  void claim(size_t worker, SimTime now);
  void begin_item(size_t worker, int64_t sample, SimTime now);
  void next_request(size_t worker, SimTime now);
  void end_item(Worker& worker, size_t number, SimTime end);
  void compute(Worker& worker, size_t number, SimTime now);

  const SimulatedData data_;
  const SimTime read_time_, decode_time_, copy_time_;
  const double core_share_;
  const double cache_bytes_per_ns_;
  const int64_t per_rank_;  // workers
  const int64_t ranks_per_node_;
  const int64_t host_ahead_, device_ahead_, ring_;
  const std::optional<size_t> tier_;
  const SizesOnly& sizes_;
  SimulatedTiers& tiers_;
  SimulatedCores& cores_;
  EventQueue& events_;
  SampleOrders orders_;
  LargestFirst largest_first_;
  PageCaches caches_;
  std::vector<Rank> ranks_;
  std::vector<Slot> slots_;
  std::vector<Worker> workers_;
  std::vector<SimTime> free_;  // when each worker is free, if nobody meets anybody
  SimTime read_ = 0, decode_ = 0, union_ = 0, union_begun_ = 0;
  int64_t under_way_ = 0, decoded_ = 0;
  uint64_t cached_bytes_ = 0;
};

}  // namespace stoker
