#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

#include "io/device/resident_samples.h"
#include "io/loader/device/needed_device.h"
#include "io/loader/pipeline.h"
#include "io/metrics/loader_meter.h"

namespace stoker {
namespace {

struct DeviceResidentOptions : LoaderOptions {
  static constexpr std::array kIdle{"device_batches"};
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
        resident_(
            make_resident_samples(needed_device(inputs), spec_, dataset_.size(split_), options.digest)),
        present_(static_cast<size_t>(dataset_.size(split_))),
        labels_(present_.size()) {}

 private:
  void begin(Coming& coming) override {
    std::vector<int64_t> missing;
    std::ranges::copy_if(coming.samples, std::back_inserter(missing),
                         [this](int64_t sample) { return !present_[static_cast<size_t>(sample)]; });
    if (missing.empty()) return;
    coming.job = make_job(coming.batch, std::move(missing), false);
    workers_.submit(coming.job);
  }

  Batch finish(Coming& coming) override {
    if (coming.job) take_over(coming);
    Batch batch = std::move(coming.batch);
    batch.labels = std::make_shared<std::vector<int64_t>>();
    for (const int64_t sample : coming.samples) {
      batch.labels->push_back(labels_[static_cast<size_t>(sample)]);
    }
    if (resident_->on_host() || options_.digest) batch.pixels = slots_.acquire();
    resident_->gather(coming.samples, batch);
    if (options_.digest) {
      const TimePoint begin = Clock::now();
      batch.digests = sample_digests(batch, spec_);
      meter_.finished(Stage::digest, begin, Clock::now(),
                      static_cast<uint64_t>(batch.size) * spec_.bytes());
    }
    if (!resident_->on_host()) batch.pixels.reset();
    return batch;
  }

  // Waits for what was missing.
  void take_over(Coming& coming) {
    workers_.wait(coming.job);
    Batch filled = coming.job->take();
    const std::vector<int64_t>& missing = coming.job->samples();
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
    coming.batch.skipped = std::move(filled.skipped);
    coming.batch.tolerated = std::move(filled.tolerated);
    coming.batch.cost = filled.cost;
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
