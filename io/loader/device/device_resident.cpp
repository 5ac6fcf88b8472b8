#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

#include "io/device/resident_samples.h"
#include "io/loader/pipeline.h"
#include "io/metrics/loader_meter.h"

namespace stoker {
namespace {

struct DeviceResidentOptions : LoaderOptions {
  static constexpr std::array kIdle{"device_batches", "samples_ahead", "in_order", "filling"};
  void check(const Section& section) const {
    LoaderOptions::check(section);
    check_in_order(section);
  }
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
class DeviceResident final : public Pipeline {
 public:
  using Options = DeviceResidentOptions;
  DeviceResident(const Options& options, const Inputs& inputs)
      : Pipeline(options, options.info(), inputs),
        dataset_(inputs.dataset),
        split_(inputs.split),
        meter_(inputs.meter),
        resident_(make_resident_samples(needed_device(inputs), spec_, dataset_.size(split_),
                                        options.digest)),
        present_(static_cast<size_t>(dataset_.size(split_))),
        labels_(present_.size()) {}

 private:
  void begin(PendingBatch& pending) override {
    std::vector<int64_t> missing;
    std::ranges::copy_if(pending.samples, std::back_inserter(missing),
                         [this](int64_t sample) { return !present_[static_cast<size_t>(sample)]; });
    if (missing.empty()) return;
    pending.job = make_job(pending.batch, std::move(missing), false);
    workers_.submit(pending.job);
  }

  Batch finish(PendingBatch& pending) override {
    if (pending.job) take_over(pending);
    Batch batch = std::move(pending.batch);
    batch.labels = std::make_shared<std::vector<int64_t>>();
    for (const int64_t sample : pending.samples) {
      batch.labels->push_back(labels_[static_cast<size_t>(sample)]);
    }
    if (resident_->on_host() || options_.digest) batch.pixels = slots_.acquire();
    resident_->gather(pending.samples, batch);
    if (options_.digest) {
      const TimePoint begin = Clock::now();
      batch.digests = sample_digests(batch, spec_);
      meter_.finished(Stage::digest, begin, Clock::now(),
                      static_cast<uint64_t>(batch.size) * spec_.bytes());
    }
    if (!resident_->on_host()) batch.pixels.reset();
    return batch;
  }

  // Keeps what was missing.
  void take_over(PendingBatch& pending) {
    Batch filled = pending.job->take();
    const std::vector<int64_t>& missing = pending.job->samples();
    const TimePoint begin = Clock::now();
    resident_->put(filled, missing);
    meter_.finished(Stage::copy, begin, Clock::now(),
                    static_cast<uint64_t>(filled.size) * spec_.bytes());
    std::set<std::string> bad;
    for (const SkippedSample& sample : filled.skipped) bad.insert(sample.key);
    for (size_t i = 0; i < missing.size(); ++i) {
      const auto sample = static_cast<size_t>(missing[i]);
      labels_[sample] = (*filled.labels)[i];
      present_[sample] = bad.empty() || !bad.contains(dataset_.info(split_, missing[i]).key);
    }
    pending.batch.skipped = std::move(filled.skipped);
    pending.batch.tolerated = std::move(filled.tolerated);
    pending.batch.cost = filled.cost;
  }

  const Dataset& dataset_;
  const Split split_;
  LoaderMeter& meter_;
  const std::unique_ptr<ResidentSamples> resident_;
  std::vector<bool> present_;  // by sample: its pixels and its label
  std::vector<int64_t> labels_;
};

STOKER_REGISTER(Loader, "device_resident", DeviceResident);

}  // namespace
}  // namespace stoker
