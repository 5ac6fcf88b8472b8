#include "io/loader/pipeline.h"
#include "io/metrics/loader_meter.h"

namespace stoker {
namespace {

struct SyncOptions : LoaderOptions {
  LoaderInfo info() const {
    LoaderInfo info = LoaderOptions::info();
    info.workers = 0;
    return info;
  }
};

// The trainer's own thread reads, decodes and collates, one sample after another.
class Sync final : public Loader {
 public:
  using Options = SyncOptions;
  Sync(Options options, const Inputs& inputs)
      : options_(options),
        sampler_(options, inputs.dataset.size(inputs.split), inputs.split, inputs.seed),
        spec_(inputs.decoder.spec()),
        slots_(inputs.device, static_cast<size_t>(options.batch_size) * spec_.bytes(), 1),
        samples_(inputs),
        worker_(inputs.meter) {}

  int64_t batches() const override { return sampler_.batches(); }

  void start(int64_t epoch, int64_t first_batch) override {
    order_ = sampler_.order(epoch);
    batch_ = first_batch;
  }

  std::optional<Batch> next() override {
    if (order_ == nullptr || batch_ >= batches()) return std::nullopt;
    BatchJob job(empty_batch(sampler_, slots_, order_->epoch, batch_), order_,
                 batch_ * options_.batch_size, spec_, options_.digest);
    ++batch_;
    worker_.set_busy(true);
    job.work(samples_);
    worker_.set_busy(false);
    return job.take();
  }

 private:
  const Options options_;
  const Sampler sampler_;
  const SampleSpec spec_;
  SlotPool slots_;
  SampleLoader samples_;
  LoaderMeter::Worker worker_;
  std::shared_ptr<const EpochOrder> order_;
  int64_t batch_ = 0;
};

STOKER_REGISTER(Loader, "sync", Sync);

}  // namespace
}  // namespace stoker
