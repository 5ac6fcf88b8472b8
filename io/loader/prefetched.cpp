#include <array>

#include "io/loader/pipeline.h"

namespace stoker {
namespace {

struct ThreadedOptions : LoaderOptions {
  static constexpr std::array kIdle{"prefetch_batches", "device_batches", "in_order"};
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
  Filling filling = Filling::together;
  static constexpr std::array kIdle{"device_batches", "samples_ahead"};
  template <class V>
  void visit(V& v) {
    LoaderOptions::visit(v);
    v("filling", filling,
      same_results("Who fills a batch. `together`: all workers the one that is needed next, and "
                   "what is ahead goes on over the end of an epoch. `apart`: each worker one of "
                   "its own, and none before its epoch, as PyTorch's DataLoader does."));
  }
  LoaderInfo info() const { return LoaderOptions::info(prefetch_batches); }
};

// The study's prefetch(N): the workers of `threaded` run ahead of the trainer.
class Prefetched final : public Pipeline {
 public:
  using Options = PrefetchedOptions;
  Prefetched(const Options& options, const Inputs& inputs)
      : Pipeline(options, options.info(), inputs, options.filling) {}
};

STOKER_REGISTER(Loader, "threaded", Threaded);
STOKER_REGISTER(Loader, "prefetched", Prefetched);

}  // namespace
}  // namespace stoker
