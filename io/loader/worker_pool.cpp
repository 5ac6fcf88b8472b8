#include "io/loader/worker_pool.h"

#include <pthread.h>

#include <algorithm>
#include <string>
#include <utility>

namespace stoker {

WorkerPool::WorkerPool(const Loader::Inputs& inputs, int64_t workers, const Pinning& pinning,
                       std::shared_ptr<QueueMeter> ready)
    : meter_(inputs.meter), pinning_(pinning), ready_(std::move(ready)) {
  loaders_.reserve(static_cast<size_t>(workers));
  for (int64_t i = 0; i < workers; ++i) loaders_.emplace_back(inputs);
  for (int64_t i = 0; i < workers; ++i) {
    threads_.emplace_back([this, i] { run(loaders_[static_cast<size_t>(i)], i); });
  }
}

WorkerPool::~WorkerPool() {
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
  work_.notify_all();
}

void WorkerPool::wait_until_over(const std::shared_ptr<BatchJob>& job) {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return !unfinished_.contains(job.get()); });
}

void WorkerPool::wait(const std::shared_ptr<BatchJob>& job) {
  wait_until_over(job);
  if (ready_) ready_->get();
}

void WorkerPool::cancel(const std::shared_ptr<BatchJob>& job) {
  bool ended_here = false;  // nobody will finish it, and nobody has
  {
    std::lock_guard lock(mutex_);
    std::erase(jobs_, job);
    if (job->cancel()) ended_here = unfinished_.erase(job.get()) > 0;
  }
  wait_until_over(job);
  if (ready_ && !ended_here) ready_->get();
}

void WorkerPool::run(SampleLoader& loader, int64_t number) {
  pthread_setname_np(pthread_self(), ("load-" + std::to_string(number)).c_str());
  pinning_.pin(number);
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
    lock.unlock();
    const bool finished = job->work(loader);
    lock.lock();
    std::erase(jobs_, job);  // nothing is left to claim, whoever sees it first
    if (finished) {
      if (ready_) ready_->put();
      unfinished_.erase(job.get());
      done_.notify_all();
    }
  }
}

}  // namespace stoker
