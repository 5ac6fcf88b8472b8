#include "io/loader/lmdbio/group_order.h"

#include <algorithm>
#include <bit>

namespace stoker {

GroupOrder::GroupOrder(int64_t records, int64_t batch_size, int64_t batches, int64_t world,
                       int64_t node_size, int64_t coalesce)
    : records_(records),
      batch_size_(batch_size),
      batches_(batches),
      world_(world),
      node_size_(node_size),
      coalesce_(coalesce) {}

int64_t GroupOrder::together_from(int64_t batch) const { return batch / coalesce_ * coalesce_; }

int64_t GroupOrder::together(int64_t batch) const {
  return std::min(coalesce_, batches_ - together_from(batch));
}

int64_t GroupOrder::size_of(int64_t batch) const {
  return std::min(batch_size_, records_ - batch * batch_size_);
}

Records GroupOrder::places(int64_t batch, int64_t rank) const {
  const auto [first, last] = Shard{rank, world_}.places(size_of(batch));
  return {first, last};
}

Records GroupOrder::places_of_node(int64_t batch, int64_t node) const {
  const int64_t first = node * node_size_;
  const int64_t last = std::min(first + node_size_, world_) - 1;
  return {places(batch, first).first, places(batch, last).last};
}

Records GroupOrder::node_stretch(int64_t batch, int64_t node) const {
  const int64_t from = together_from(batch);
  Records stretch{from * batch_size_, from * batch_size_};
  // All of them but the last one of the epoch are alike.
  const int64_t to = from + together(batch) - 1;
  const Records full = places_of_node(from, node), last = places_of_node(to, node);
  stretch.first += full.first * (to - from) + last.first;
  stretch.last += full.last * (to - from) + last.last;
  return stretch;
}

Records GroupOrder::of_node(int64_t batch, int64_t node) const {
  const int64_t from = together_from(batch);
  const int64_t before = places_of_node(from, node).count() * (batch - from);
  const int64_t first = node_stretch(batch, node).first + before;
  return {first, first + places_of_node(batch, node).count()};
}

Records GroupOrder::of_rank(int64_t batch, int64_t rank) const {
  const int64_t node = node_of(rank);
  const Records own = places(batch, rank);
  const int64_t first = of_node(batch, node).first + own.first - places_of_node(batch, node).first;
  return {first, first + own.count()};
}

int64_t GroupOrder::most_of_node() const {
  int64_t most = 0;
  for (int64_t node = 0; batches_ > 0 && node < nodes(); ++node) {
    // The last batch may have other parts.
    for (const int64_t batch : {int64_t{0}, batches_ - 1}) {
      most = std::max(most, places_of_node(batch, node).count());
    }
  }
  return most;
}

int64_t coalesced_batches(uint64_t bytes_per_batch_and_reader, int64_t batches) {
  constexpr uint64_t kBytes = uint64_t{4} << 20;
  const uint64_t bytes = std::max<uint64_t>(bytes_per_batch_and_reader, 1);
  const uint64_t wanted = std::bit_ceil((kBytes - 1) / bytes + 1);
  const auto most = static_cast<uint64_t>(std::max<int64_t>(batches, 1));
  return static_cast<int64_t>(std::min(wanted, most));
}

}  // namespace stoker
