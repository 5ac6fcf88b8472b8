#include "io/loader/batch_job.h"

#include <xxhash.h>

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include "io/core/sample_spec.h"

// How workers share a batch without a lock for each sample:
//
// 1. next_ is the next place to claim. A worker that adds one to it, below open_, owns the place.
// 2. remaining_ is how many places are neither filled nor given up. A worker subtracts all that it
//    filled at once, behind its last access to the batch.
// 3. Whoever brings remaining_ to 0 finishes the batch. It sees what all others wrote, because
//    their subtractions come before its own.
// 4. cancel() claims all places that are left and gives them up. The same count then says whether a
//    worker is still at one.
//
// With arrivals the places that are being read for are exchanged between batches (Arrivals), and
// each is subtracted by itself, from the batch that it lies in. 3. and 4. hold for the places of a
// batch, whoever reads for them.

namespace stoker {

BatchJob::BatchJob(Batch batch, std::vector<int64_t> samples, const SampleSpec& spec, bool digest,
                   BatchClaims claims, JobGroup group)
    : batch_(std::move(batch)),
      epoch_(batch_.epoch),
      index_(batch_.index),
      samples_(std::move(samples)),
      claims_(std::move(claims.order)),
      spec_(spec),
      digest_(digest),
      group_(std::move(group)),
      open_(claims.open.value_or(batch_.size)),
      remaining_(batch_.size) {
  if (batch_.filler) group_.arrivals.reset();  // its sample is no other's, and counts nowhere
}

std::optional<int64_t> BatchJob::claim() {
  int64_t place = next_;
  while (place < open_) {
    if (next_.compare_exchange_weak(place, place + 1)) return place;
  }
  return std::nullopt;
}

void BatchJob::work(SampleLoader& loader, const Finished& finished) {
  LoadCost cost;
  int64_t filled = 0;
  while (const std::optional<int64_t> claimed = claim()) {
    const int64_t place = claims_.empty() ? *claimed : claims_[static_cast<size_t>(*claimed)];
    if (group_.arrivals) {
      fill_any(place, loader, finished);
    } else {
      fill(place, loader, cost);
      ++filled;
    }
  }
  // Who filled nothing must not touch the batch: it may be finished and taken by now.
  if (filled > 0 && this->filled(filled, cost, loader.meter())) finished(*this);
}

bool BatchJob::filled(int64_t places, const LoadCost& cost, LoaderMeter& meter) {
  {
    std::lock_guard lock(mutex_);
    batch_.cost.read_ns += cost.read_ns;
    batch_.cost.decode_ns += cost.decode_ns;
    batch_.cost.bytes_read += cost.bytes_read;
  }
  const bool last = remaining_.fetch_sub(places) == places;
  if (last) finish(meter);
  return last;
}

void BatchJob::fill(int64_t place, SampleLoader& loader, LoadCost& cost) {
  try {
    keep(place, loader.load(epoch_, samples_[static_cast<size_t>(place)], pixels(place), cost));
  } catch (...) {
    keep_error(place);
  }
}

void BatchJob::fill_any(int64_t place, SampleLoader& loader, const Finished& finished) {
  LoadCost cost;
  const Arrivals::Reading reading = group_.arrivals->begin({shared_from_this(), place});
  Arrivals::Place goal;
  try {
    const auto arrived = [&] {
      goal = group_.arrivals->arrive(reading);
      return goal.job->pixels(goal.place);
    };
    LoadedSample sample = loader.load(epoch_, samples_[static_cast<size_t>(place)], arrived, cost);
    goal.job->keep(goal.place, std::move(sample));
  } catch (...) {
    if (!goal.job) goal = group_.arrivals->arrive(reading);
    goal.job->keep_error(goal.place);
  }
  if (goal.job->filled(1, cost, loader.meter())) finished(*goal.job);
}

void BatchJob::keep(int64_t place, LoadedSample sample) {
  (*batch_.labels)[static_cast<size_t>(place)] = sample.label;
  if (sample.skipped) sample.skipped->batch = index_;
  if (!sample.skipped && !sample.tolerated) return;
  std::lock_guard lock(mutex_);
  noted_.emplace(place, std::move(sample));
}

void BatchJob::keep_error(int64_t place) {
  std::lock_guard lock(mutex_);
  if (error_ != nullptr && place >= error_place_) return;
  error_ = std::current_exception();
  error_place_ = place;
}

void BatchJob::finish(LoaderMeter& meter) {
  // A batch with a bad place is not handed out, so it needs no digest.
  if (error_ != nullptr) return;
  try {
    for (auto& [place, sample] : noted_) {
      if (sample.skipped) batch_.skipped.push_back(std::move(*sample.skipped));
      if (sample.tolerated) batch_.tolerated.push_back(std::move(*sample.tolerated));
    }
    if (!digest_) return;
    const TimePoint begin = Clock::now();
    batch_.digests = sample_digests(batch_, spec_);
    meter.finished(Stage::digest, begin, Clock::now(),
                   used_bytes(batch_.pixels.get(), batch_.size, spec_));
  } catch (...) {  // out of memory
    error_ = std::current_exception();
  }
}

bool BatchJob::cancel() {
  const int64_t unclaimed = batch_.size - next_.exchange(batch_.size);
  return remaining_.fetch_sub(unclaimed) == unclaimed;
}

Batch BatchJob::take() {
  if (error_) std::rethrow_exception(error_);
  return std::move(batch_);
}

std::string sample_digests(const Batch& batch, const SampleSpec& spec) {
  std::string digests;
  if (batch.filler) return digests;
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                              XXH3_freeState);
  for (int64_t i = 0; i < batch.size; ++i) {
    const uint8_t* place = batch.pixels.get() + static_cast<size_t>(i) * spec.bytes();
    XXH3_128bits_reset(state.get());
    XXH3_128bits_update(state.get(), place, spec.used(place));
    XXH3_128bits_update(state.get(), &(*batch.labels)[static_cast<size_t>(i)], sizeof(int64_t));
    XXH128_canonical_t bytes;
    XXH128_canonicalFromHash(&bytes, XXH3_128bits_digest(state.get()));
    digests.append(reinterpret_cast<const char*>(bytes.digest), sizeof bytes.digest);
  }
  return digests;
}

Arrivals::Reading Arrivals::begin(Place place) {
  const std::lock_guard lock(mutex_);
  return reading_.insert(reading_.end(), std::move(place));
}

Arrivals::Place Arrivals::arrive(Reading reading) {
  const auto order = [](const Place& place) { return std::tuple(place.job->index(), place.place); };
  const std::lock_guard lock(mutex_);
  for (auto other = reading_.begin(); other != reading_.end(); ++other) {
    // What another epoch draws for a sample is another crop of it.
    if (other->job->epoch() != reading->job->epoch()) continue;
    if (order(*other) < order(*reading)) std::swap(*other, *reading);
  }
  Place place = std::move(*reading);
  reading_.erase(reading);
  return place;
}

}  // namespace stoker
