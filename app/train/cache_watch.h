#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/experiment/experiment.h"
#include "io/metrics/loader_meter.h"
#include "io/metrics/run_meter.h"

namespace stoker {

// Brings the page cache into the state that run.page_cache asks for, before anything is read: cold
// evicts every file of the data set (and where run.drop_caches is on and the kernel allows it,
// everything), warm reads them all. Never fails a run: CacheWatch sees afterwards whether the state
// was reached. `notify` gets what could not be done.
void set_up_page_cache(Experiment& experiment, const Notify& notify);

// Measures how much of the training data the page cache holds, by at most 1,000 files spread evenly
// over it: once when made, which is before the loader reads, and after each epoch on a thread of
// its own, together with what the epoch has read. Publishes in the hub, which must outlive it. Does
// nothing where the data lie in no files. The trainer's thread. A look costs a system call for each
// file, and reads nothing.
class CacheWatch {
 public:
  // Looks for the first time.
  explicit CacheWatch(Experiment& experiment);
  // Waits for a look that was asked for.
  ~CacheWatch();
  CacheWatch(const CacheWatch&) = delete;
  CacheWatch& operator=(const CacheWatch&) = delete;

  // Asks for a look, and does not wait. epoch: how many have ended in all, those before a resume,
  // too.
  void epoch_ended(int64_t epoch);

 private:
  // The share of the files that the page cache holds; absent: the kernel does not tell.
  std::optional<double> look();
  // The thread: looks when it is asked to.
  void run();
  // Adds what was read since the last time, in the epochs until this one, to the evidence.
  void add_reads(int64_t epoch);

  RunMeter& meter_;
  const LoaderMeter& loader_;
  const FileTree* files_ = nullptr;
  // Keys of the files that are looked at.
  std::vector<std::string> keys_;
  CacheEvidence evidence_;  // the thread's, once that runs, and so is what follows
  EpochReads read_;         // so far
  std::mutex mutex_;
  std::condition_variable wake_;
  std::optional<int64_t> asked_;  // the epochs that had ended
  int64_t first_ = 0;             // of them when it was asked first
  bool stop_ = false;
  std::jthread thread_;
};

}  // namespace stoker
