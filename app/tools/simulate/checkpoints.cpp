#include "app/tools/simulate/checkpoints.h"

#include <algorithm>

namespace stoker {
namespace {

// Operations of io/checkpoint that move nothing (FileSetWriter): before a set's first file, and for
// each rank's file before and after its bytes. What a set has beside these is its commit.
constexpr int64_t kBegin = 3, kOpen = 2, kSync = 4;
constexpr uint64_t kPiece = 8 << 20;  // kChunkBytes

uint64_t drain_limit(const CheckpointOptions& options) {
  return options.drain_limit && options.drain_limit->fixed ? options.drain_limit->fixed->bytes : 0;
}

}  // namespace

SimulatedCheckpoints::SimulatedCheckpoints(const SimulationInputs& inputs, SimulatedTiers& tiers,
                                           EventQueue& events, size_t first_owner)
    : on_(inputs.options.workload.checkpoint.info().saves),
      burst_(inputs.options.workload.checkpoint.info().written.size() > 1),
      options_(simulated_checkpoints(inputs.options.workload)),
      set_(inputs.options.workload.set),
      ranks_(inputs.options.machine.ranks()),
      ranks_per_node_(inputs.options.machine.ranks_per_node),
      threads_(on_ ? options_.resolve_threads() : 1),
      per_rank_(threads_ + 1),
      first_owner_(first_owner),
      tiers_(tiers),
      events_(events),
      resumes_(0) {
  if (!on_) return;
  last_ = tiers.find(options_.slow->name);
  first_ = burst_ ? tiers.find(options_.fast->name) : last_;
  chains_.resize(static_cast<size_t>(ranks_ * per_rank_));
  for (int64_t rank = 0; rank < ranks_; ++rank) {
    for (int64_t thread = 0; thread < per_rank_; ++thread) {
      Chain& chain = chains_[chain_of(rank, thread)];
      chain.rank = rank;
      chain.drains = thread == threads_;
      chain.tier = chain.drains ? last_ : first_;
    }
  }
}

bool SimulatedCheckpoints::due(const CheckpointOffer& offer, SimTime now) const {
  return on_ && options_.due(offer, sim_seconds(now - last_begun_));
}

uint64_t SimulatedCheckpoints::own_bytes(int64_t rank) const {
  const auto n = static_cast<uint64_t>(ranks_), r = static_cast<uint64_t>(rank);
  return set_.bytes.bytes * (r + 1) / n - set_.bytes.bytes * r / n;
}

void SimulatedCheckpoints::save(const CheckpointOffer& offer, SimTime now) {
  const bool full = std::ssize(saves_) >= options_.slots;
  if (full && !offer.last && options_.on_backlog == Backlog::skip) {
    ++skipped_;
    resumes_ = now;
    return;
  }
  last_begun_ = now;
  resumes_.reset();
  saves_.push_back({offer.step, now});
  if (saves_.size() == 1) begin_save(now);
  if (options_.snapshot == SnapshotMode::swap && !full) resumes_ = now;
  if (options_.snapshot == SnapshotMode::async && !full) {
    resumes_ = now + sim_time(1e-6 * static_cast<double>(own_bytes(0)) / set_.snapshot_mb_per_s);
  }
}

void SimulatedCheckpoints::begin_save(SimTime now) {
  const double copying = 1e-6 * static_cast<double>(own_bytes(0)) / set_.snapshot_mb_per_s;
  const double agreeing =
      1e-3 * (set_.overhead_ms + set_.rank_ms * static_cast<double>(ranks_ - 1));
  begin_phase(Phase::begun, now + sim_time(copying + agreeing));
}

void SimulatedCheckpoints::begin_operations(int64_t rank, int64_t count, SimTime now) {
  chains_[chain_of(rank, 0)].operations_left = count;
  events_.add(now, SimEventKind::checkpoint, chain_of(rank, 0));
  ++chains_left_;
}

void SimulatedCheckpoints::begin_phase(Phase phase, SimTime now) {
  phase_ = phase;
  if (phase == Phase::begun) return begin_operations(0, kBegin, now);
  if (phase == Phase::written) return begin_writing(now);
  if (phase == Phase::committed) {
    return begin_operations(0, std::max<int64_t>(1, set_.operations - kBegin - kOpen - kSync), now);
  }
  for (int64_t rank = 0; rank < ranks_; ++rank) {
    begin_operations(rank, phase == Phase::opened ? kOpen : kSync, now);
  }
}

// Each rank's bytes by its threads, in equal shares.
void SimulatedCheckpoints::begin_writing(SimTime now) {
  const auto threads = static_cast<uint64_t>(threads_);
  for (int64_t rank = 0; rank < ranks_; ++rank) {
    const uint64_t bytes = own_bytes(rank);
    for (uint64_t thread = 0; thread < threads; ++thread) {
      Chain& chain = chains_[chain_of(rank, static_cast<int64_t>(thread))];
      const uint64_t share = (bytes / threads + kPiece - 1) / kPiece * kPiece;
      chain.offset = std::min(bytes, share * thread);
      chain.bytes_left =
          (thread + 1 == threads ? bytes : std::min(bytes, share * (thread + 1))) - chain.offset;
      if (chain.bytes_left == 0) continue;
      ++chains_left_;
      events_.add(now, SimEventKind::checkpoint, chain_of(rank, static_cast<int64_t>(thread)));
    }
  }
}

void SimulatedCheckpoints::go_on(size_t number, SimTime now) {
  Chain& chain = chains_[number];
  if (chain.operations_left > 0 || chain.bytes_left > 0) return next(number, now);
  if (chain.drains) return drain_chain_ended(now);
  save_chain_ended(now);
}

void SimulatedCheckpoints::next(size_t number, SimTime now) {
  Chain& chain = chains_[number];
  TierOperation operation{TierOperation::Kind::metadata, 0, static_cast<uint64_t>(chain.rank) + 1,
                          chain.offset};
  if (chain.operations_left > 0) {
    --chain.operations_left;
  } else {
    operation.kind = chain.kind;
    operation.bytes = std::min(chain.bytes_left, kPiece);
    chain.offset += operation.bytes;
    chain.bytes_left -= operation.bytes;
  }
  const auto owner = static_cast<uint32_t>(first_owner_ + number);
  const auto finished =
      tiers_.begin(now, chain.tier, chain.rank / ranks_per_node_, operation, owner);
  if (finished) passed(owner, finished->end);
}

void SimulatedCheckpoints::save_chain_ended(SimTime now) {
  if (--chains_left_ > 0) return;
  if (phase_ == Phase::committed) return committed(now);
  begin_phase(static_cast<Phase>(static_cast<int>(phase_) + 1), now);
}

void SimulatedCheckpoints::committed(SimTime now) {
  ++saved_;
  save_time_ += now - saves_.front().offered;
  saves_.pop_front();
  // Those of a synchronous save wait for it, others for its snapshot memory.
  if (!resumes_ && (saves_.empty() || options_.snapshot != SnapshotMode::sync)) resumes_ = now;
  if (burst_) {
    drains_.push_back(now);
    if (drains_.size() == 1) begin_drain(now);
  }
  if (!saves_.empty()) begin_save(now);
}

void SimulatedCheckpoints::begin_drain(SimTime now) {
  verifying_ = false;
  drain_begun_ = part_begun_ = now;
  drains_left_ = ranks_;
  for (int64_t rank = 0; rank < ranks_; ++rank) {
    Chain& chain = chains_[drain_of(rank)];
    chain.kind = TierOperation::Kind::write;
    chain.operations_left = rank == 0 ? set_.operations : kOpen + kSync;
    chain.offset = 0;
    chain.bytes_left = own_bytes(rank);
    events_.add(now, SimEventKind::checkpoint, drain_of(rank));
  }
}

void SimulatedCheckpoints::drain_chain_ended(SimTime now) {
  if (--drains_left_ > 0) return;
  if (const uint64_t limit = drain_limit(options_); limit > 0) {
    const double least = static_cast<double>(own_bytes(0)) / static_cast<double>(limit);
    now = std::max(now, part_begun_ + sim_time(least));
  }
  if (!verifying_ && options_.verify != Verify::none) {
    verifying_ = true;
    part_begun_ = now;
    drains_left_ = ranks_;
    for (int64_t rank = 0; rank < ranks_; ++rank) {
      Chain& chain = chains_[drain_of(rank)];
      chain.kind = TierOperation::Kind::read;
      chain.offset = 0;
      chain.bytes_left = own_bytes(rank);
      events_.add(now, SimEventKind::checkpoint, drain_of(rank));
    }
    return;
  }
  ++drained_;
  drain_time_ += now - drain_begun_;
  drains_.pop_front();
  if (!drains_.empty()) begin_drain(now);
}

}  // namespace stoker
