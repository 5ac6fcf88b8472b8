#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "app/experiment/experiment.h"
#include "io/metrics/run_meter.h"

namespace stoker {

// Looks how much of the training data the page cache holds, by at most 1,000 files spread evenly
// over it: once when made, which is before the loader reads, and after each epoch on a thread of
// its own. Publishes in the hub. Does nothing where the data lie in no files. The trainer's thread.
class CacheWatch {
 public:
  explicit CacheWatch(Experiment& experiment);
  // Waits for a look that was asked for.
  ~CacheWatch();
  CacheWatch(const CacheWatch&) = delete;
  CacheWatch& operator=(const CacheWatch&) = delete;

  // Asks for a look, and does not wait.
  void epoch_ended();

 private:
  std::optional<double> look();
  void run();

  RunMeter& meter_;
  const FileTree* files_ = nullptr;
  std::vector<std::string> keys_;
  CacheEvidence evidence_;  // the thread's, once that runs
  std::mutex mutex_;
  std::condition_variable wake_;
  bool asked_ = false;
  bool stop_ = false;
  std::jthread thread_;
};

}  // namespace stoker
