#include "io/loader/pipeline.h"

namespace stoker {
namespace {

struct PrefetchedOptions : LoaderOptions {
  LoaderInfo info() const { return LoaderOptions::info(prefetch_batches); }
};

// The 2018 study's prefetch(N): the workers of `threaded` run ahead of the trainer.
class Prefetched final : public Loader {
 public:
  using Options = PrefetchedOptions;
  Prefetched(Options options, const Inputs& inputs)
      : pipeline_(options, inputs, options.prefetch_batches) {}

  int64_t batches() const override { return pipeline_.batches(); }
  void start(int64_t epoch, int64_t first_batch) override { pipeline_.start(epoch, first_batch); }
  std::optional<Batch> next() override { return pipeline_.next(); }

 private:
  Pipeline pipeline_;
};

STOKER_REGISTER(Loader, "prefetched", Prefetched);

}  // namespace
}  // namespace stoker
