#include "io/loader/pipeline.h"

#include <utility>

#include "io/metrics/loader_meter.h"

namespace stoker {

Batch empty_batch(const Sampler& sampler, SlotPool& slots, int64_t epoch, int64_t batch) {
  Batch result;
  result.epoch = epoch;
  result.index = batch;
  result.size = sampler.batch_size(batch);
  result.pixels = slots.acquire();
  result.labels = std::make_shared<std::vector<int64_t>>(static_cast<size_t>(result.size));
  return result;
}

Pipeline::Pipeline(const LoaderOptions& options, const Loader::Inputs& inputs, int64_t ahead)
    : sampler_(options, inputs.dataset.size(inputs.split), inputs.split, inputs.seed),
      spec_(inputs.decoder.spec()),
      options_(options),
      ahead_(ahead),
      largest_first_(inputs.dataset, inputs.split),
      // One more than are ahead: the one that the trainer holds.
      slots_(inputs.device, static_cast<size_t>(options.batch_size) * spec_.bytes(), ahead + 1),
      workers_(inputs, options.workers.resolve(),
               options.pin_workers ? Pinning(inputs.notify) : Pinning(),
               ahead > 0 ? inputs.meter.add_queue("ready", ahead) : nullptr) {}

Pipeline::~Pipeline() { cancel(); }

void Pipeline::start(int64_t epoch, int64_t first_batch) {
  const Position position{epoch, first_batch};
  // The end of an epoch need not have been asked for.
  if (asked_.batch >= batches()) asked_ = {asked_.epoch + 1, 0};
  if (asked_ == position && !pending_.empty()) return;
  cancel();
  asked_ = submitted_ = position;
  for (int64_t i = 0; i < ahead_; ++i) submit();
}

std::optional<Batch> Pipeline::next() {
  if (asked_.batch >= batches()) {
    asked_ = {asked_.epoch + 1, 0};
    return std::nullopt;
  }
  if (pending_.empty()) submit();
  const std::shared_ptr<BatchJob> job = std::move(pending_.front());
  pending_.pop_front();
  ++asked_.batch;
  workers_.wait(job);
  Batch batch = job->take();
  while (static_cast<int64_t>(pending_.size()) < ahead_) submit();
  return batch;
}

void Pipeline::submit() {
  if (submitted_.batch >= batches()) submitted_ = {submitted_.epoch + 1, 0};
  if (order_ == nullptr || order_->epoch != submitted_.epoch) {
    order_ = sampler_.order(submitted_.epoch);
  }
  Batch batch = empty_batch(sampler_, slots_, submitted_.epoch, submitted_.batch);
  const int64_t first = submitted_.batch * options_.batch_size;
  std::vector<int32_t> claims;
  // Who wants the samples as they lie in storage has them read so, too.
  if (order_->shuffled) {
    claims = largest_first_.places(
        std::span(order_->samples)
            .subspan(static_cast<size_t>(first), static_cast<size_t>(batch.size)));
  }
  auto job = std::make_shared<BatchJob>(std::move(batch), order_, first, spec_, options_.digest,
                                        std::move(claims));
  pending_.push_back(job);
  workers_.submit(std::move(job));
  ++submitted_.batch;
}

void Pipeline::cancel() {
  for (const auto& job : pending_) workers_.cancel(job);
  pending_.clear();
}

}  // namespace stoker
