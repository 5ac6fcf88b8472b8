#include "io/loader/worker_pool.h"

#include <fmt/ranges.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <string>
#include <utility>

#include "io/core/system/usable_cores.h"
#include "io/core/threads.h"

// How jobs pass through the pool:
//
// 1. jobs_ holds the jobs with places left to claim, oldest first. All workers work on the first of
//    them, so that the batch that the trainer needs next is filled by all. With own_batches the
//    first worker that comes takes it out, and fills it alone.
// 2. A worker comes back from a job when nothing is left to claim. It takes the job out of jobs_,
//    while other workers may still be at its last places. open() puts the newest job there again.
// 3. The worker that fills the last place finishes the job: it takes it out of unfinished_ and
//    wakes whoever waits for it.
// 4. cancel() ends the claiming. If no worker is at a place, the job is over at once; otherwise the
//    last of these workers ends it by step 3. A worker works with the job's token, so that it comes
//    back from a tier as soon as the job is interrupted.

namespace stoker {
namespace {

// Said to the user.
std::vector<int> cores_to_pin_to(const Notify& notify) {
  std::vector<int> cores = own_cores();
  if (!notify) return cores;
  notify(cores.empty() ? "loader: the cores of this process are not known: workers are not pinned"
                       : fmt::format("loader: workers are pinned to the cores {}, in turn",
                                     fmt::join(cores, ", ")));
  return cores;
}

void pin_to(int number) {
  cpu_set_t core;
  CPU_ZERO(&core);
  CPU_SET(number, &core);
  pthread_setaffinity_np(pthread_self(), sizeof core, &core);
}

}  // namespace

WorkerPool::WorkerPool(const Loader::Inputs& inputs, int64_t workers, bool pinned,
                       std::shared_ptr<QueueMeter> ready, bool own_batches)
    : meter_(inputs.meter),
      cores_(pinned ? cores_to_pin_to(inputs.notify) : std::vector<int>{}),
      ready_(std::move(ready)),
      own_batches_(own_batches) {
  loaders_.reserve(static_cast<size_t>(workers));
  for (int64_t i = 0; i < workers; ++i) loaders_.emplace_back(inputs);
  try {
    for (int64_t i = 0; i < workers; ++i) {
      threads_.emplace_back([this, i] { run(loaders_[static_cast<size_t>(i)], i); });
    }
  } catch (...) {  // no more threads; those that were made wait for work and have to be told to end
    stop();
    throw;
  }
}

WorkerPool::~WorkerPool() { stop(); }

void WorkerPool::stop() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    for (const auto& job : jobs_) job->cancel();
  }
  work_.notify_all();
}

void WorkerPool::submit(std::shared_ptr<BatchJob> job) {
  {
    std::lock_guard lock(mutex_);
    unfinished_.insert(job.get());
    jobs_.push_back(std::move(job));
  }
  // One job has work for every worker.
  work_.notify_all();
}

void WorkerPool::open(const std::shared_ptr<BatchJob>& job, int64_t places) {
  {
    std::lock_guard lock(mutex_);
    job->open(places);
    if (jobs_.empty() || jobs_.back() != job) jobs_.push_back(job);
  }
  work_.notify_all();
}

void WorkerPool::wait(const std::shared_ptr<BatchJob>& job) {
  {
    std::unique_lock lock(mutex_);
    wait_interruptibly(done_, lock, [&] { return !unfinished_.contains(job.get()); });
  }
  if (ready_) ready_->get();
}

void WorkerPool::cancel(const std::shared_ptr<BatchJob>& job) {
  bool ended_here = false;  // nobody will finish it, and nobody has
  {
    std::unique_lock lock(mutex_);
    std::erase(jobs_, job);
    if (job->cancel()) ended_here = unfinished_.erase(job.get()) > 0;
    done_.wait(lock, [&] { return !unfinished_.contains(job.get()); });
  }
  // A worker that finished the job has counted it as ready, and nobody will wait for it any more.
  if (ready_ && !ended_here) ready_->get();
}

void WorkerPool::run(SampleLoader& loader, int64_t number) {
  pthread_setname_np(pthread_self(), ("load-" + std::to_string(number)).c_str());
  if (!cores_.empty()) pin_to(cores_[static_cast<size_t>(number) % cores_.size()]);
  // A batch worker that is woken does not preempt the trainer, who wakes it in the middle of
  // next().
  const sched_param priority{};
  pthread_setschedparam(pthread_self(), SCHED_BATCH, &priority);
  LoaderMeter::Worker worker(meter_);
  std::unique_lock lock(mutex_);
  while (true) {
    if (!stop_ && jobs_.empty()) {
      worker.set_busy(false);
      const TimePoint begin = Clock::now();
      work_.wait(lock, [&] { return stop_ || !jobs_.empty(); });
      meter_.finished(Stage::wait, begin, Clock::now());
    }
    if (stop_) return;
    worker.set_busy(true);
    const std::shared_ptr<BatchJob> job = jobs_.front();
    if (own_batches_) jobs_.pop_front();
    lock.unlock();
    {
      const Interruptible scope(job->stop());
      job->work(loader, [this](const BatchJob& done) { finished(done); });
    }
    lock.lock();
    // Nothing is left to claim, whoever sees it first; unless more was opened meanwhile.
    if (!job->claimable()) std::erase(jobs_, job);
  }
}

void WorkerPool::finished(const BatchJob& job) {
  const std::lock_guard lock(mutex_);
  if (ready_) ready_->put();
  unfinished_.erase(&job);
  done_.notify_all();
}

}  // namespace stoker
