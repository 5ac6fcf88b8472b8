#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "io/metrics/clock.h"
#include "io/storage/file_tree.h"

namespace stoker {

// What the operations of one device cost.
struct TierCosts {
  double read_bytes_per_s = 0;
  double write_bytes_per_s = 0;
  Clock::duration read_latency{};
  Clock::duration write_latency{};
  Clock::duration metadata_latency{};  // of everything that moves no bytes
};

// Where a TierModel gets its time from; a test brings its own.
struct TierClock {
  std::function<TimePoint()> now = Clock::now;
  std::function<void(TimePoint)> sleep_until = [](TimePoint time) {
    std::this_thread::sleep_until(time);
  };
};

// The time of a device that does one operation after the other, for all threads together. It only
// ever adds time: an operation takes as long as the model says, or as it takes in truth where that
// is longer. Any thread.
class TierModel {
 public:
  enum class Kind { read, write, metadata };

  explicit TierModel(TierCosts costs, TierClock clock = {});

  // Around each operation: begin(), the operation, finish() with what begin() returned. finish()
  // returns when the device would have. Without it nothing is charged.
  TimePoint begin() const { return clock_.now(); }
  void finish(TimePoint begun, Kind kind, uint64_t bytes = 0);

 private:
  Clock::duration cost(Kind kind, uint64_t bytes) const;

  const TierCosts costs_;
  const TierClock clock_;
  std::mutex mutex_;
  TimePoint idle_from_;                              // when the device has done all it was given
  std::map<std::thread::id, Clock::duration> late_;  // by which a thread's last sleep was too long
};

// Charges every call of a FileTree to a model: read and write their bytes, everything else (sync,
// create, rename, list, ...) the latency of metadata. A call that failed costs its latency. A sync
// has nothing else to wait for: writes have waited already. Any thread.
class TierLayer final : public FileLayer {
 public:
  explicit TierLayer(std::shared_ptr<TierModel> model) : model_(std::move(model)) {}
  int64_t call(const FileCall& call, const Next& next) override;

 private:
  std::shared_ptr<TierModel> model_;
};

}  // namespace stoker
