#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "io/loader/largest_first.h"
#include "io/loader/loader.h"
#include "io/loader/sampler.h"
#include "io/loader/slot_pool.h"
#include "io/loader/worker_pool.h"

namespace stoker {

// Workers that fill up to `ahead` batches before they are asked for, in order, over the end of the
// epoch into the next one. ahead = 0: only the batch being asked for. The one mechanism behind
// threaded, prefetched and device_prefetched. One consumer thread; contract and failures are
// Loader's.
class Pipeline {
 public:
  Pipeline(const LoaderOptions& options, const Loader::Inputs& inputs, int64_t ahead);
  ~Pipeline();

  int64_t batches() const { return sampler_.batches(); }
  void start(int64_t epoch, int64_t first_batch);
  std::optional<Batch> next();

 private:
  struct Position {
    int64_t epoch = 0;
    int64_t batch = 0;
    bool operator==(const Position&) const = default;
  };
  void submit();
  void cancel();

  const Sampler sampler_;
  const SampleSpec spec_;
  const LoaderOptions options_;
  const int64_t ahead_;
  LargestFirst largest_first_;
  SlotPool slots_;
  Position asked_;      // of the next batch to hand out
  Position submitted_;  // of the next batch to submit
  std::shared_ptr<const EpochOrder> order_;
  std::deque<std::shared_ptr<BatchJob>> pending_;
  WorkerPool workers_;
};

// The batch at a place of the sampler's order, with its slot, not filled yet.
Batch empty_batch(const Sampler& sampler, SlotPool& slots, int64_t epoch, int64_t batch);

}  // namespace stoker
