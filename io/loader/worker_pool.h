#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_set>
#include <vector>

#include "io/loader/batch_job.h"
#include "io/metrics/loader_meter.h"

namespace stoker {

// The loader's threads. They live as long as the loader, not an epoch, and work on the oldest batch
// that has places left, so that the batch the trainer needs next is always done first. One consumer
// thread calls all methods. With own_batches each worker fills a batch of its own instead, which it
// takes when it has nothing to do, the oldest first. An error of a sample belongs to its batch
// (BatchJob::take) and ends no worker. Refers to what Inputs refers to.
class WorkerPool {
 public:
  // Starts `workers` threads, each with a DecoderSession of its own; 0: no threads, and submit()
  // must not be called. pinned: worker i stays on the i-th of own_cores()
  // (io/core/system/usable_cores), and on the first one again where there are more workers; a line
  // of inputs.notify names the cores. Where the kernel refuses, workers run anywhere, as results do
  // not depend on it. `ready` (may be null) counts batches that are finished and were not waited
  // for yet.
  WorkerPool(const Loader::Inputs& inputs, int64_t workers, bool pinned,
             std::shared_ptr<QueueMeter> ready, bool own_batches = false);
  // Gives up what is not finished; returns when all threads have ended.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Queues a job behind those before it. Does not block.
  void submit(std::shared_ptr<BatchJob> job);
  // Lets workers claim the first `places` places of the job, which is the newest one. Does not
  // block.
  void open(const std::shared_ptr<BatchJob>& job, int64_t places);
  // Blocks until the job is finished. Once for each job that was submitted and not cancelled.
  // Interrupted: it did not wait, and may be called again.
  void wait(const std::shared_ptr<BatchJob>& job);
  // Ends the job without filling the rest, finished or not; returns when no worker is at it, which
  // waits for no tier where all jobs have been interrupted.
  void cancel(const std::shared_ptr<BatchJob>& job);

 private:
  // Asks all threads to end.
  void stop();
  // A worker's life.
  void run(SampleLoader& loader, int64_t number);
  // A worker has filled the last place of a job.
  void finished(const BatchJob& job);

  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable_any done_;
  std::deque<std::shared_ptr<BatchJob>> jobs_;  // with places left to claim
  // Submitted, and neither finished nor ended by cancel().
  std::unordered_set<const BatchJob*> unfinished_;
  LoaderMeter& meter_;
  // Empty: the scheduler moves workers as it likes.
  const std::vector<int> cores_;
  const std::shared_ptr<QueueMeter> ready_;
  const bool own_batches_;
  bool stop_ = false;
  std::vector<SampleLoader> loaders_;
  // Last: joined before anything they use goes.
  std::vector<std::jthread> threads_;
};

}  // namespace stoker
