#include "app/train/cache_watch.h"

#include <pthread.h>

#include <algorithm>

#include "app/train/page_cache_setup.h"
#include "io/metrics/hub.h"
#include "io/storage/page_cache.h"

namespace stoker {
namespace {

constexpr int64_t kMaxFiles = 1000;

}  // namespace

CacheWatch::CacheWatch(Experiment& experiment) : meter_(experiment.hub().run()) {
  evidence_.wanted = experiment.options().run.page_cache;
  files_ = data_files(experiment);
  meter_.set_cache(evidence_);
  if (files_ == nullptr) return;
  const Dataset& dataset = experiment.dataset();
  const int64_t samples = dataset.size(Split::train);
  const int64_t count = std::min(samples, kMaxFiles);
  for (int64_t i = 0; i < count; ++i) {
    keys_.push_back(dataset.info(Split::train, i * samples / count).key);
  }
  evidence_.resident_before = look();
  meter_.set_cache(evidence_);
  thread_ = std::jthread([this] { run(); });
}

CacheWatch::~CacheWatch() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
}

void CacheWatch::epoch_ended() {
  {
    const std::lock_guard lock(mutex_);
    asked_ = true;
  }
  wake_.notify_all();
}

std::optional<double> CacheWatch::look() {
  const Residency found = page_cache_residency(*files_, keys_);
  evidence_.files_looked_at = found.files;
  return found.cached_share();
}

void CacheWatch::run() {
  pthread_setname_np(pthread_self(), "cache-watch");
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return asked_ || stop_; });
    if (!asked_) return;
    asked_ = false;
    lock.unlock();
    evidence_.resident = look();
    meter_.set_cache(evidence_);
    lock.lock();
  }
}

}  // namespace stoker
