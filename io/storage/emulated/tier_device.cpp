#include "io/storage/emulated/tier_device.h"

#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>
#include <numbers>
#include <utility>

#include "io/core/random.h"

// The slots are a leaky bucket (the generic cell rate algorithm): an operation of latency L fills
// it by L / queue_depth, and waits only where it is full. So queue_depth operations that come at
// once begin at once, as on a device with queue_depth slots, and behind them one begins every L /
// queue_depth. In the end as many are done as on such a device. Unlike single slots it takes a
// queue depth that is not an integer, and one number is enough for any depth.

namespace stoker {
namespace {

using Kind = TierOperation::Kind;

// A transfer gives way to others after this long, or after the longest latency if that is longer:
// with shorter pieces all threads would end, and begin anew, together.
constexpr double kPieceNs = 2e6;
// A cache writes requests that are at most this many apart in the order of their places, whichever
// thread was quicker.
constexpr uint64_t kSortedWrites = 8;

double ns(Clock::duration duration) {
  return static_cast<double>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count());
}
int64_t ns(TimePoint time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}
int64_t rounded(double ns) { return std::llround(ns); }
Clock::duration duration_of(double ns) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::nanoseconds(rounded(ns)));
}
TimePoint time_of(int64_t ns) {
  return TimePoint(std::chrono::duration_cast<Clock::duration>(std::chrono::nanoseconds(ns)));
}

// Whether a transfer goes on where the last one ended, or moves nothing. Notes where this one does.
bool goes_on(TierState& state, const TierOperation& operation) {
  if (operation.bytes == 0) return true;
  const uint32_t writing = operation.kind == Kind::write ? 1 : 0;
  const bool same = state.object == operation.object && state.writing == writing;
  const uint64_t from = state.object_end;
  const uint64_t to = operation.offset;
  const uint64_t reach = writing == 1 ? kSortedWrites * operation.bytes : 0;
  const bool near = (to > from ? to - from : from - to) <= reach;
  const uint64_t end = to + operation.bytes;
  state.object = operation.object;
  state.writing = writing;
  state.object_end = same && near ? std::max(from, end) : end;
  return same && near;
}

// Log-normal with mean 1; a function of its arguments only.
double draw(double sigma, uint64_t seed, uint64_t number) {
  if (sigma == 0) return 1;
  Random random(mix(seed, number));
  const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
  const double normal = radius * std::cos(2 * std::numbers::pi * random.uniform());
  return std::exp(sigma * normal - sigma * sigma / 2);
}

// For how much longer than `latency` a read of so many bytes takes if it is one of the slow ones.
double slow_by(const TierCosts& costs, const TierOperation& operation, uint64_t number,
               double latency) {
  constexpr uint64_t kSlow = 0x736c6f77;  // draws of another kind than those of latencies
  if (costs.slow_fraction == 0 || operation.kind != Kind::read) return 0;
  if (Random(mix(costs.seed, number, kSlow)).uniform() >= costs.slow_fraction) return 0;
  const double rate =
      costs.stream_bytes_per_s > 0 ? costs.stream_bytes_per_s : costs.read_bytes_per_s;
  const double takes = latency + 1e9 * static_cast<double>(operation.bytes) / rate;
  return (costs.slow_factor - 1) * takes;
}

}  // namespace

uint64_t tier_object(std::string_view path) { return XXH3_64bits(path.data(), path.size()); }

TierDevice::TierDevice(TierCosts costs, std::shared_ptr<TierShare> share)
    : costs_(costs),
      longest_(ns(std::max({costs.read_latency + costs.seek, costs.write_latency + costs.seek,
                            costs.metadata_latency}))),
      share_(std::move(share)) {}

TierDevice::Admission TierDevice::admit(TimePoint arrival, const TierOperation& operation,
                                        Clock::duration late) {
  const std::lock_guard lock(*share_);
  TierState& state = share_->state();
  const uint64_t number = state.operations++;
  const double drawn = draw(costs_.latency_sigma, costs_.seed, number);
  double seek = 0;
  double latency = ns(costs_.metadata_latency) * drawn;
  if (operation.kind != Kind::metadata) {
    if (!goes_on(state, operation)) seek = ns(costs_.seek) * drawn;
    const bool writes = operation.kind == Kind::write;
    latency = ns(writes ? costs_.write_latency : costs_.read_latency) * drawn + seek;
  }
  const double longer = slow_by(costs_, operation, number, latency);
  if (latency == 0) return {arrival + duration_of(longer), {}, state.processes};
  const double ahead = longest_ * (costs_.queue_depth - 1) / costs_.queue_depth;
  const int64_t begin = std::max(ns(arrival), state.slots_end - rounded(ahead + ns(late)));
  const int64_t occupied = rounded(latency / costs_.queue_depth);
  state.slots_end = std::max(ns(arrival), state.slots_end) + occupied;
  state.slots_busy += occupied;
  return {time_of(begin + rounded(latency + longer)), duration_of(seek / costs_.queue_depth),
          state.processes};
}

TierDevice::Piece TierDevice::transfer(const Transfer& transfer) {
  const bool writes = transfer.kind == Kind::write;
  const uint64_t bytes = transfer.bytes;
  const int64_t ready = ns(transfer.ready);
  const double bytes_per_ns = 1e-9 * (writes ? costs_.write_bytes_per_s : costs_.read_bytes_per_s);
  const double most = std::max(4096.0, bytes_per_ns * std::max(kPieceNs, longest_));
  // The last piece is at least as long as the others.
  const uint64_t piece =
      static_cast<double>(bytes) > 2 * most ? static_cast<uint64_t>(most) : bytes;
  const auto amount = static_cast<double>(piece);
  const int64_t takes = rounded(amount / bytes_per_ns);
  const int64_t alone =
      costs_.stream_bytes_per_s > 0 ? rounded(1e9 * amount / costs_.stream_bytes_per_s) : 0;
  const std::lock_guard lock(*share_);
  TierState& state = share_->state();
  const int64_t begin =
      std::max(ready, state.pipe_end + rounded(ns(transfer.arm) - ns(transfer.late)));
  state.pipe_end = std::max(ready, state.pipe_end + rounded(ns(transfer.arm))) + takes;
  state.pipe_busy += takes;
  (writes ? state.bytes_written : state.bytes_read) += piece;
  return {piece, time_of(std::max(begin + takes, ready + alone))};
}

void TierLayout::check(const Section& section) const {
  if (stripe_count > stripes) section.fail("stripe_count", "must be at most stripes");
  if (stripe_bytes.bytes == 0) section.fail("stripe_bytes", "must be more than 0");
}

TierParts::TierParts(const TierLayout& layout, const TierOperation& operation)
    : operation_(operation),
      devices_(static_cast<uint64_t>(layout.stripes)),
      width_(static_cast<uint64_t>(layout.stripe_count)) {
  const uint64_t stripe = layout.stripe_bytes.bytes;
  count_ = std::min(width_, std::max<uint64_t>(1, (operation.bytes + stripe - 1) / stripe));
  first_ = devices_ == 1 ? 0 : scramble(operation.object + kGoldenGamma) % devices_;
  at_ = operation.offset / stripe % width_;
}

size_t TierParts::device(uint64_t part) const {
  return static_cast<size_t>((first_ + (at_ + part) % width_) % devices_);
}

TierOperation TierParts::operator[](uint64_t part) const {
  TierOperation own = operation_;
  own.bytes = operation_.bytes * (part + 1) / count_ - operation_.bytes * part / count_;
  own.offset = operation_.offset / width_;
  return own;
}

}  // namespace stoker
