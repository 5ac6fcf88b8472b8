#include "app/train/cache_watch.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <utility>

#include "io/core/text/text.h"
#include "io/metrics/hub.h"
#include "io/metrics/record/run_record.h"
#include "io/storage/file_tree.h"
#include "io/storage/page_cache.h"

namespace stoker {
namespace {

constexpr int64_t kMaxFiles = 1000;

std::vector<std::string> all_keys(const Dataset& dataset) {
  std::vector<std::string> keys;
  for (const Split split : {Split::train, Split::test}) {
    const std::vector<std::string> more = objects_of(dataset, split);
    keys.insert(keys.end(), more.begin(), more.end());
  }
  return keys;
}

void read_all(const FileTree& files, const std::vector<std::string>& keys, const Notify& notify) {
  Buffer buffer;
  size_t failed = 0;
  for (const std::string& key : keys) {
    try {
      const TreeFile file = files.open(key, FileAccess::buffered);
      const uint64_t size = file.size();
      file.read_at(0, {buffer.resize(size), size});
    } catch (const IoError&) {
      ++failed;  // the loader will say what is wrong with it
    }
  }
  if (failed > 0)
    notify(fmt::format("warming the page cache: {} could not be read", plural(failed, "file")));
}

}  // namespace

void set_up_page_cache(Experiment& experiment, const Notify& notify) {
  const RunOptions& run = experiment.options().run;
  const FileTree* files = experiment.files();
  if (run.page_cache == PageCache::as_is || files == nullptr) return;
  // Uses the files themselves and not the tier, so that none of this is measured.
  const FileTree tree(files->root());
  const std::vector<std::string> keys = all_keys(experiment.dataset());
  if (run.page_cache == PageCache::warm) return read_all(tree, keys, notify);
  try {
    evict(tree, keys);
  } catch (const IoError& error) {
    notify(error.what());
  }
  if (run.drop_caches && !drop_page_cache()) {
    notify("run.drop_caches: the kernel does not let this process drop the page cache");
  }
}

CacheWatch::CacheWatch(Experiment& experiment)
    : meter_(experiment.hub().run()), loader_(experiment.hub().train_loader()) {
  evidence_.wanted = experiment.options().run.page_cache;
  files_ = experiment.files();
  meter_.set_cache(evidence_);
  if (files_ == nullptr) return;
  const Dataset& dataset = experiment.dataset();
  const int64_t samples = dataset.size(Split::train);
  const int64_t count = std::min(samples, kMaxFiles);
  std::vector<int64_t> some;
  for (int64_t i = 0; i < count; ++i) some.push_back(i * samples / count);
  keys_ = objects_of(dataset, Split::train, some);
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

void CacheWatch::epoch_ended(int64_t epoch) {
  {
    const std::lock_guard lock(mutex_);
    asked_ = epoch;
    if (first_ == 0) first_ = epoch;
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
    const int64_t epoch = *std::exchange(asked_, std::nullopt);
    lock.unlock();
    evidence_.resident = look();
    add_reads(epoch);
    meter_.set_cache(evidence_);
    lock.lock();
  }
}

void CacheWatch::add_reads(int64_t epoch) {
  const LoaderMeter::State now = loader_.state();
  if (!now.storage_bytes) return;
  const EpochReads all{first_, epoch, now.of(Stage::read).bytes, *now.storage_bytes};
  add_epochs(evidence_, {read_.last == 0 ? first_ : read_.last + 1, epoch, all.asked - read_.asked,
                         all.fetched - read_.fetched});
  read_ = all;
}

}  // namespace stoker
