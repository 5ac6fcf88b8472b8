#include <array>

#include "io/loader/pipeline.h"
#include "io/metrics/loader_meter.h"

namespace stoker {
namespace {

struct SyncOptions : LoaderOptions {
  static constexpr std::array kIdle{"workers",        "pin_workers",   "prefetch_batches",
                                    "device_batches", "samples_ahead", "in_order",
                                    "filling"};
  void check(const Section& section) const {
    LoaderOptions::check(section);
    check_in_order(section);
  }
  LoaderInfo info() const {
    LoaderInfo info = LoaderOptions::info();
    info.workers = 0;
    return info;
  }
};

// The trainer's own thread reads, decodes and collates, one sample after another.
class Sync final : public Pipeline {
 public:
  using Options = SyncOptions;
  Sync(const Options& options, const Inputs& inputs)
      : Pipeline(options, options.info(), inputs), samples_(inputs), worker_(inputs.meter) {}

 private:
  void begin(PendingBatch& pending) override {
    pending.job = make_job(pending.batch, pending.samples, options_.digest);
  }
  // Where this thread is interrupted, finish() throws that of the first sample it kept from
  // reading.
  void await(PendingBatch& pending) override {
    worker_.set_busy(true);
    pending.job->work(samples_);
    worker_.set_busy(false);
  }

  SampleLoader samples_;
  LoaderMeter::Worker worker_;
};

STOKER_REGISTER(Loader, "sync", Sync);

}  // namespace
}  // namespace stoker
