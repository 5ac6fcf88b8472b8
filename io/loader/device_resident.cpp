#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "io/device/resident_samples.h"
#include "io/loader/pipeline.h"
#include "io/metrics/loader_meter.h"

namespace stoker {
namespace {

struct DeviceResidentOptions : LoaderOptions {
  LoaderInfo info() const {
    LoaderInfo info = LoaderOptions::info(prefetch_batches);
    info.resident = true;
    return info;
  }
};

// Every sample is read and decoded once, stays on the device, and from then on a batch is a gather
// on the device. Until all are there this works as `prefetched`: workers fill up to
// prefetch_batches batches ahead, but only with the samples that are missing. A bad sample is
// missing for ever, because what stands in its place is another one in every epoch.
class DeviceResident final : public Loader {
 public:
  using Options = DeviceResidentOptions;
  DeviceResident(Options options, const Inputs& inputs)
      : options_(options),
        dataset_(inputs.dataset),
        split_(inputs.split),
        spec_(inputs.decoder.spec()),
        meter_(inputs.meter),
        sampler_(options, dataset_.size(split_), split_, inputs.seed),
        resident_(
            make_resident_samples(inputs.device, spec_, dataset_.size(split_), options.digest)),
        present_(static_cast<size_t>(dataset_.size(split_))),
        labels_(present_.size()),
        slots_(inputs.device, static_cast<size_t>(options.batch_size) * spec_.bytes(),
               options.prefetch_batches + 1),
        workers_(inputs, options.workers.resolve(),
                 options.pin_workers ? Pinning(inputs.notify) : Pinning(), nullptr) {}

  ~DeviceResident() override { cancel(); }

  int64_t batches() const override { return sampler_.batches(); }

  void start(int64_t epoch, int64_t first_batch) override {
    // The end of an epoch need not have been asked for.
    if (asked_.batch >= batches()) asked_ = {asked_.epoch + 1, 0};
    const Position position{epoch, first_batch};
    if (asked_ == position && !pending_.empty()) return;
    cancel();
    asked_ = submitted_ = position;
    while (static_cast<int64_t>(pending_.size()) < options_.prefetch_batches) submit();
  }

  std::optional<Batch> next() override {
    if (asked_.batch >= batches()) {
      asked_ = {asked_.epoch + 1, 0};
      return std::nullopt;
    }
    if (pending_.empty()) submit();
    Coming coming = std::move(pending_.front());
    pending_.pop_front();
    ++asked_.batch;
    if (coming.job) take_over(coming);
    Batch batch = gathered(std::move(coming));
    while (static_cast<int64_t>(pending_.size()) < options_.prefetch_batches) submit();
    return batch;
  }

 private:
  struct Position {
    int64_t epoch = 0;
    int64_t batch = 0;
    bool operator==(const Position&) const = default;
  };
  struct Coming {
    Batch batch;
    std::vector<int64_t> samples;
    std::vector<int64_t> missing;   // in the order of `samples`
    std::shared_ptr<BatchJob> job;  // that fills them; null: none is
  };

  void submit() {
    if (submitted_.batch >= batches()) submitted_ = {submitted_.epoch + 1, 0};
    if (order_ == nullptr || order_->epoch != submitted_.epoch) {
      order_ = sampler_.order(submitted_.epoch);
    }
    Coming coming;
    coming.batch.epoch = submitted_.epoch;
    coming.batch.index = submitted_.batch;
    coming.batch.size = sampler_.batch_size(submitted_.batch);
    const auto first = order_->samples.begin() + submitted_.batch * options_.batch_size;
    coming.samples.assign(first, first + coming.batch.size);
    for (const int64_t sample : coming.samples) {
      if (!present_[static_cast<size_t>(sample)]) coming.missing.push_back(sample);
    }
    if (!coming.missing.empty()) coming.job = decode(coming);
    pending_.push_back(std::move(coming));
    ++submitted_.batch;
  }

  std::shared_ptr<BatchJob> decode(const Coming& coming) {
    Batch batch = coming.batch;
    batch.size = static_cast<int64_t>(coming.missing.size());
    batch.pixels = slots_.acquire();
    batch.labels = std::make_shared<std::vector<int64_t>>(coming.missing.size());
    auto order = std::make_shared<EpochOrder>(EpochOrder{batch.epoch, false, coming.missing});
    auto job = std::make_shared<BatchJob>(std::move(batch), std::move(order), 0, spec_, false);
    workers_.submit(job);
    return job;
  }

  // Waits for what was missing.
  void take_over(Coming& coming) {
    workers_.wait(coming.job);
    Batch filled = coming.job->take();
    const TimePoint begin = Clock::now();
    resident_->put(filled, coming.missing);
    meter_.finished(Stage::copy, begin, Clock::now(),
                    static_cast<uint64_t>(filled.size) * spec_.bytes());
    std::set<std::string> bad;
    for (const SkippedSample& sample : filled.skipped) bad.insert(sample.key);
    for (size_t i = 0; i < coming.missing.size(); ++i) {
      const auto sample = static_cast<size_t>(coming.missing[i]);
      labels_[sample] = (*filled.labels)[i];
      present_[sample] = bad.empty() || !bad.contains(dataset_.info(split_, coming.missing[i]).key);
    }
    coming.batch.skipped = std::move(filled.skipped);
    coming.batch.cost = filled.cost;
  }

  Batch gathered(Coming coming) {
    Batch batch = std::move(coming.batch);
    batch.labels = std::make_shared<std::vector<int64_t>>();
    for (const int64_t sample : coming.samples) {
      batch.labels->push_back(labels_[static_cast<size_t>(sample)]);
    }
    if (resident_->on_host() || options_.digest) batch.pixels = slots_.acquire();
    resident_->gather(coming.samples, batch);
    if (options_.digest) {
      const TimePoint begin = Clock::now();
      batch.digest = batch_digest(batch, spec_);
      meter_.finished(Stage::digest, begin, Clock::now(),
                      static_cast<uint64_t>(batch.size) * spec_.bytes());
    }
    if (!resident_->on_host()) batch.pixels.reset();
    return batch;
  }

  void cancel() {
    for (const Coming& coming : pending_) {
      if (coming.job) workers_.cancel(coming.job);
    }
    pending_.clear();
  }

  const Options options_;
  const Dataset& dataset_;
  const Split split_;
  const SampleSpec spec_;
  LoaderMeter& meter_;
  const Sampler sampler_;
  const std::unique_ptr<ResidentSamples> resident_;
  std::vector<bool> present_;  // by sample: its pixels and its label
  std::vector<int64_t> labels_;
  SlotPool slots_;
  Position asked_;      // of the next batch to hand out
  Position submitted_;  // of the next batch to submit
  std::shared_ptr<const EpochOrder> order_;
  std::deque<Coming> pending_;
  WorkerPool workers_;
};

STOKER_REGISTER(Loader, "device_resident", DeviceResident);

}  // namespace
}  // namespace stoker
