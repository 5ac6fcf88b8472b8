#include <array>

#include "io/loader/pipeline.h"

namespace stoker {
namespace {

struct ThreadedOptions : LoaderOptions {
  static constexpr std::array kIdle{"prefetch_batches", "device_batches", "in_order", "filling"};
  void check(const Section& section) const {
    LoaderOptions::check(section);
    check_in_order(section);
  }
  LoaderInfo info() const {
    LoaderInfo info = LoaderOptions::info();
    info.samples_ahead = samples_ahead;
    return info;
  }
};

// The 2018 study's parallel map: workers fill the batch that is being asked for, and ahead of it
// nothing, or, as TensorFlow's map does, so many samples.
class Threaded final : public Pipeline {
 public:
  using Options = ThreadedOptions;
  Threaded(const Options& options, const Inputs& inputs)
      : Pipeline(options, options.info(), inputs) {}
};

struct PrefetchedOptions : LoaderOptions {
  static constexpr std::array kIdle{"device_batches", "samples_ahead"};
  LoaderInfo info() const { return LoaderOptions::info(prefetch_batches); }
};

// The study's prefetch(N): the workers of `threaded` run ahead of the trainer.
class Prefetched final : public Pipeline {
 public:
  using Options = PrefetchedOptions;
  Prefetched(const Options& options, const Inputs& inputs)
      : Pipeline(options, options.info(), inputs) {}
};

STOKER_REGISTER(Loader, "threaded", Threaded);
STOKER_REGISTER(Loader, "prefetched", Prefetched);

}  // namespace
}  // namespace stoker
