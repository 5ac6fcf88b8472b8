#pragma once

#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "io/loader/loader_options.h"
#include "io/loader/sampler.h"
#include "io/loader/slot_pool.h"
#include "io/loader/worker_pool.h"

namespace stoker {

// The one mechanism behind all loaders of this folder: batches are begun in order, up to
// LoaderInfo::host_batches_ahead of them before they are asked for, and the first samples_ahead
// samples of those behind them, over the end of the epoch into the next one; with 0 ahead, only the
// batch that is asked for. LoaderInfo::workers threads fill them. A derived class says what
// beginning and finishing a batch means where that is not reading all of its samples. Thread rule
// and failures: as Loader.
class Pipeline : public Loader {
 public:
  // `info`: what the options say of the loader. Throws what Sampler throws, and std::bad_alloc.
  // Batches are filled apart only where they are made ahead, and for no device.
  Pipeline(const LoaderOptions& options, const LoaderInfo& info, const Inputs& inputs);
  // What was ahead is lost; returns when no worker is at it.
  ~Pipeline() override;

  // Loader's three methods.
  int64_t batches() const override { return sampler_.batches(); }
  void start(int64_t epoch, int64_t first_batch) override;
  std::optional<Batch> next() override;

 protected:
  // A batch on its way. Belongs to the pipeline.
  struct PendingBatch {
    // Epoch, index and size alone.
    Batch batch;
    // Indices in the split, in the batch's order.
    std::vector<int64_t> samples;
    // EpochOrder::scattered; false: workers keep to the order.
    bool scattered = false;
    // Where it begins in the epoch's order, and how many samples of it may be read by now.
    int64_t begin = 0;
    int64_t open = 0;
    // That fills it; null: nothing is to be read.
    std::shared_ptr<BatchJob> job;
  };
  // Called in the order of the batches when there is room for one more. Must not block. This one
  // hands all samples to the workers.
  virtual void begin(PendingBatch& pending);
  // Called when the batch is asked for. Blocks until all that is to be read is there. Interrupted:
  // the batch stays pending.
  virtual void await(PendingBatch& pending);
  // Called once after that: the batch. Throws what Loader::next does.
  virtual Batch finish(PendingBatch& pending);

  // Begins the reading of `samples` into a slot, as a part of `batch`'s epoch. `claims`, `open`:
  // BatchJob; open left out: all.
  std::shared_ptr<BatchJob> make_job(Batch batch, std::vector<int64_t> samples, bool digest,
                                     std::vector<int32_t> claims = {},
                                     std::optional<int64_t> open = {});

  // For derived classes. The workers end before what they fill goes.
  const LoaderOptions options_;
  const Sampler sampler_;
  const SampleSpec spec_;
  SlotPool slots_;
  WorkerPool workers_;

 private:
  // A batch's place in the run.
  struct Position {
    int64_t epoch = 0;
    int64_t batch = 0;
    bool operator==(const Position&) const = default;
  };
  // Begins as many batches as may be ahead.
  void submit_ahead();
  // Begins the next batch, or its first samples: at most so many.
  void submit(int64_t samples = std::numeric_limits<int64_t>::max());
  // Lets the workers go on to so many samples of the batch that was begun last.
  void open(PendingBatch& pending, int64_t samples);
  // Begins what may be done of the samples behind the first `whole` batches that are on their way.
  void begin_samples(size_t whole);
  // Interrupts all that is on its way; no worker is at it afterwards.
  void cancel();

  const size_t ahead_;
  const int64_t samples_ahead_;
  const bool resident_;
  const bool over_epochs_;  // what is ahead goes on over the end of the epoch
  LargestFirst largest_first_;
  ReadHints hints_;
  Position asked_;      // of the next batch to hand out
  Position submitted_;  // of the next batch to begin
  EpochOrder order_;
  std::deque<PendingBatch> pending_;
  // Of the batches on their way.
  JobGroup group_;
};

}  // namespace stoker
