#pragma once

#include <cstdint>

#include "io/loader/loader.h"

namespace stoker {

// Records [first, last) of the database, in the order of its keys. A value.
struct Records {
  int64_t first = 0;
  int64_t last = 0;
  int64_t count() const { return last - first; }
  bool operator==(const Records&) const = default;
};

// Which records are whose. The ranks are cut into nodes of node_size. `coalesce` batches lie
// together. Their records lie one behind the other, and each node has one stretch of them, that
// holds its part of the first batch, then of the second and so on. With coalesce 1 a batch is the
// records as they lie. All the readers keep this order, so their batches are equal. Pure; a value.
class GroupOrder {
 public:
  // batches: how many an epoch has. All have batch_size records, but perhaps the last.
  GroupOrder(int64_t records, int64_t batch_size, int64_t batches, int64_t world, int64_t node_size,
             int64_t coalesce);

  int64_t batches() const { return batches_; }
  int64_t world() const { return world_; }
  int64_t node_size() const { return node_size_; }
  int64_t nodes() const { return (world_ + node_size_ - 1) / node_size_; }
  int64_t node_of(int64_t rank) const { return rank / node_size_; }
  // The first batch of those that lie together with this one, and how many these are.
  int64_t together_from(int64_t batch) const;
  int64_t together(int64_t batch) const;
  // The stretch of a node, for all batches that lie together with this one.
  Records node_stretch(int64_t batch, int64_t node) const;
  // The records that a node reads of one batch.
  Records of_node(int64_t batch, int64_t node) const;
  Records of_rank(int64_t batch, int64_t rank) const;
  // The most that of_node(), node_stretch() have for any batch and node.
  int64_t most_of_node() const;
  int64_t most_of_stretch() const { return most_of_node() * coalesce_; }

 private:
  // In a batch, from 0.
  Records places(int64_t batch, int64_t rank) const;
  Records places_of_node(int64_t batch, int64_t node) const;
  int64_t size_of(int64_t batch) const;

  int64_t records_;
  int64_t batch_size_;
  int64_t batches_;
  int64_t world_;
  int64_t node_size_;
  int64_t coalesce_;
};

// How many batches a reader gets by one read where it is left to us: as many as 4 MiB hold, rounded
// up to a power of two, but no more than an epoch has. LMDBIO's rule. Pure; any thread.
int64_t coalesced_batches(uint64_t bytes_per_batch_and_reader, int64_t batches);

}  // namespace stoker
