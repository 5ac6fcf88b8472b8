#include "io/loader/batch_job.h"

#include <xxhash.h>

#include <algorithm>
#include <memory>
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

namespace stoker {

BatchJob::BatchJob(Batch batch, std::vector<int64_t> samples, const SampleSpec& spec, bool digest,
                   std::vector<int32_t> claims, std::optional<int64_t> open)
    : batch_(std::move(batch)),
      samples_(std::move(samples)),
      claims_(std::move(claims)),
      spec_(spec),
      digest_(digest),
      open_(open.value_or(batch_.size)),
      remaining_(batch_.size) {}

std::optional<int64_t> BatchJob::claim() {
  int64_t place = next_;
  while (place < open_) {
    if (next_.compare_exchange_weak(place, place + 1)) return place;
  }
  return std::nullopt;
}

bool BatchJob::work(SampleLoader& loader) {
  LoadCost cost;
  int64_t filled = 0;
  for (; const std::optional<int64_t> place = claim(); ++filled) {
    fill(claims_.empty() ? *place : claims_[static_cast<size_t>(*place)], loader, cost);
  }
  // Who filled nothing must not touch the batch: it may be finished and taken by now.
  if (filled == 0) return false;
  {
    std::lock_guard lock(mutex_);
    batch_.cost.read_ns += cost.read_ns;
    batch_.cost.decode_ns += cost.decode_ns;
    batch_.cost.bytes_read += cost.bytes_read;
  }
  const bool last = remaining_.fetch_sub(filled) == filled;
  if (last) finish(loader.meter());
  return last;
}

void BatchJob::fill(int64_t place, SampleLoader& loader, LoadCost& cost) {
  try {
    uint8_t* slot = batch_.pixels.get() + static_cast<size_t>(place) * spec_.bytes();
    const int64_t index = samples_[static_cast<size_t>(place)];
    LoadedSample sample = loader.load(batch_.epoch, index, slot, cost);
    // No other worker has this place, so the slot and the label need no lock.
    (*batch_.labels)[static_cast<size_t>(place)] = sample.label;
    if (sample.skipped) sample.skipped->batch = batch_.index;
    if (sample.skipped || sample.tolerated) {
      std::lock_guard lock(mutex_);
      noted_.emplace(place, std::move(sample));
    }
  } catch (...) {
    // The error of the first bad place is the batch's, whichever worker was quicker.
    std::lock_guard lock(mutex_);
    if (error_ == nullptr || place < error_place_) {
      error_ = std::current_exception();
      error_place_ = place;
    }
  }
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

}  // namespace stoker
