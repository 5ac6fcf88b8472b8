#include "io/loader/pipeline.h"

#include <algorithm>
#include <utility>

// The life of a batch:
//
// 1. submit() takes the next batch of the sampler's order and begins it: the batch gets a slot, and
//    the workers get its samples. This never blocks, so the trainer's thread does it.
// 2. The workers fill the slot, the oldest batch first (worker_pool.cpp, batch_job.cpp).
// 3. next() waits for the oldest batch and hands it out. Only then it begins another one, so that
//    no more slots are in use than the batches ahead and the one that the trainer holds.
//    Samples ahead: when a batch is asked for, it is opened as a whole, and the first samples of
//    the next one, so that workers who find no place in it go on there. Only the batch that was
//    begun last is ever open in part.
// 4. The batches that are ahead go on over the end of an epoch, unless they are filled apart.
//    next() says once that the epoch is over, and the start() of the next one finds its first
//    batches on their way.
// 5. A start() anywhere else gives up what is on its way and begins anew from there: workers that
//    wait for a tier are interrupted.
// 6. A next() that is interrupted leaves all as it is, and a start() at the same place finds it.

namespace stoker {
namespace {

// Into how many batches of `size` so many samples reach.
int64_t parts_of(int64_t samples, int64_t size) {
  return size == 0 ? 0 : (samples + size - 1) / size;
}

// Where nothing is made ahead, and for a device, batches are filled together.
bool fills_apart(const LoaderOptions& options, const LoaderInfo& info) {
  return options.filling == Filling::apart && info.host_batches_ahead > 0 &&
         info.device_batches_ahead == 0;
}

}  // namespace

Pipeline::Pipeline(const LoaderOptions& options, const LoaderInfo& info, const Inputs& inputs)
    : options_(options),
      sampler_(options, inputs.shard, inputs.dataset, inputs.split, inputs.seed),
      spec_(inputs.decoder.spec()),
      // One more than are ahead: the one that the trainer holds.
      slots_(inputs.allocate, static_cast<size_t>(sampler_.part(0).size) * spec_.bytes(),
             info.host_batches_ahead + parts_of(info.samples_ahead, sampler_.part(0).size) + 1,
             inputs.may_hold),
      workers_(inputs, info.workers, options.pin_workers && info.workers > 0,
               info.host_batches_ahead > 0 && !info.resident
                   ? inputs.meter.add_queue("ready", info.host_batches_ahead)
                   : nullptr,
               fills_apart(options, info)),
      ahead_(static_cast<size_t>(info.host_batches_ahead)),
      samples_ahead_(sampler_.part(0).size > 0 ? info.samples_ahead : 0),
      resident_(info.resident),
      over_epochs_(!fills_apart(options, info)),
      largest_first_(inputs.dataset, inputs.split),
      hints_(sampler_, inputs.dataset, inputs.split,
             info.host_batches_ahead + info.samples_ahead > 0) {
  if (!options.in_order) group_.arrivals = std::make_shared<Arrivals>();
}

Pipeline::~Pipeline() { cancel(); }

void Pipeline::start(int64_t epoch, int64_t first_batch) {
  check_place(epoch, first_batch);
  const Position position{epoch, first_batch};
  // The trainer may stop asking at the last batch. The pipeline then stands at the end of the
  // epoch, which is the same place as the begin of the next one.
  if (asked_.batch >= batches()) asked_ = {asked_.epoch + 1, 0};
  if (asked_ == position && !pending_.empty()) return;
  cancel();
  asked_ = submitted_ = position;
  submit_ahead();
  begin_samples(ahead_);
}

std::optional<Batch> Pipeline::next() {
  if (asked_.batch >= batches()) {
    asked_ = {asked_.epoch + 1, 0};
    return std::nullopt;
  }
  slots_.check_held();
  if (pending_.empty()) submit();
  open(pending_.front(), pending_.front().batch.size);
  begin_samples(std::max<size_t>(1, ahead_));
  await(pending_.front());
  PendingBatch pending = std::move(pending_.front());
  pending_.pop_front();
  ++asked_.batch;
  Batch batch = finish(pending);
  submit_ahead();
  return batch;
}

void Pipeline::begin(PendingBatch& pending) {
  // Where neighbours do not lie side by side, the order of reading is free, and a large sample that
  // is begun last would leave the other workers idle.
  std::vector<int32_t> claims;
  // With samples ahead it waits for none, and what is ahead are the first ones.
  if (pending.scattered && samples_ahead_ == 0) claims = largest_first_.places(pending.samples);
  pending.job =
      make_job(pending.batch, pending.samples, options_.digest, std::move(claims), pending.open);
  workers_.submit(pending.job);
}

void Pipeline::await(PendingBatch& pending) {
  if (pending.job) workers_.wait(pending.job);
}

Batch Pipeline::finish(PendingBatch& pending) { return pending.job->take(); }

std::shared_ptr<BatchJob> Pipeline::make_job(Batch batch, std::vector<int64_t> samples, bool digest,
                                             std::vector<int32_t> claims,
                                             std::optional<int64_t> open) {
  batch.size = std::ssize(samples);
  batch.pixels = slots_.acquire();
  batch.labels = std::make_shared<std::vector<int64_t>>(samples.size());
  return std::make_shared<BatchJob>(std::move(batch), std::move(samples), spec_, digest,
                                    BatchClaims{std::move(claims), open}, group_);
}

void Pipeline::begin_samples(size_t whole) {
  int64_t left = samples_ahead_;
  for (size_t i = whole; left > 0; ++i) {
    if (i == pending_.size()) {
      submit(left);
    } else {
      open(pending_[i], left);
    }
    left -= pending_[i].open;
  }
}

void Pipeline::open(PendingBatch& pending, int64_t samples) {
  const int64_t places = std::min(samples, pending.batch.size);
  if (places <= pending.open) return;
  if (!resident_) {
    hints_.about_to_read(order_, pending.begin + pending.open, pending.begin + places);
  }
  pending.open = places;
  workers_.open(pending.job, places);
}

void Pipeline::submit_ahead() {
  // An empty split has nothing ahead, in no epoch.
  const auto more = [&] { return over_epochs_ ? batches() > 0 : submitted_.batch < batches(); };
  while (pending_.size() < ahead_ && more()) submit();
}

void Pipeline::submit(int64_t samples) {
  if (submitted_.batch >= batches()) submitted_ = {submitted_.epoch + 1, 0};
  // An order takes time and memory for all samples, so it is computed once: the hints may have
  // computed the next epoch's already, in order to tell the data set what comes.
  if (order_.epoch != submitted_.epoch) order_ = hints_.take_next();
  if (order_.epoch != submitted_.epoch) order_ = sampler_.order(submitted_.epoch);
  PendingBatch& pending = pending_.emplace_back();
  pending.batch.epoch = submitted_.epoch;
  pending.batch.index = submitted_.batch;
  const BatchPart part = sampler_.part(submitted_.batch);
  pending.batch.size = part.size;
  pending.batch.whole = part.whole;
  pending.batch.filler = part.filler;
  pending.scattered = order_.scattered;
  pending.begin = part.begin;
  pending.open = std::min(samples, part.size);
  const auto first = order_.samples.begin() + part.begin;
  pending.samples.assign(first, first + part.size);
  // What is resident is not read again.
  if (!resident_) hints_.about_to_read(order_, part.begin, part.begin + pending.open);
  begin(pending);
  ++submitted_.batch;
}

void Pipeline::cancel() {
  // All at first: a worker may wait for what another one reads for a later batch.
  for (const PendingBatch& pending : pending_) {
    if (pending.job) pending.job->interrupt();
  }
  for (const PendingBatch& pending : pending_) {
    if (pending.job) workers_.cancel(pending.job);
  }
  // No worker is at a sample any more, so that nothing is forgotten that one still waits for.
  hints_.forget();
  pending_.clear();
  group_.stop = std::stop_source();
}

}  // namespace stoker
