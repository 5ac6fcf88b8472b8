#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "io/core/threads.h"
#include "io/metrics/clock.h"
#include "io/metrics/thread_slots.h"
#include "io/metrics/tier_meter.h"
#include "io/storage/emulated/tier_device.h"
#include "io/storage/file_tree.h"
#include "io/storage/storage.h"

namespace stoker {

// Where a TierModel gets its time from; tests pass their own. Both functions: any thread. A sleep
// may end late, which is made good, but not early; or by Interrupted, which the model passes on.
struct TierClock {
  std::function<TimePoint()> now = Clock::now;
  std::function<void(TimePoint)> sleep_until = sleep_interruptibly;
};

// An operation on its way through its devices. A value that only its TierModel changes.
struct TierPassage {
  // On one of them.
  struct Part {
    size_t device;
    uint64_t left;
    TimePoint at;
    Clock::duration arm;  // of the first piece of its transfer
  };
  TierOperation::Kind kind;
  uint64_t left = 0;  // bytes that have yet to pass
  TimePoint at = {};  // when it gets as far as this; with no bytes left: when it is through
  Part first = {};
  std::vector<Part> others = {};  // where it is on several devices
};

// Lets the callers of real operations wait until TierDevices would have done them. Any thread.
//
// It only adds time: an operation takes as long as the device says, or as long as it really took
// where that is longer. Such overruns are counted by the meter (may be null; must outlive the
// model), and are a condition of the tier from 3 % of its time on.
class TierModel {
 public:
  explicit TierModel(TierDevice device, TierMeter* meter = nullptr, TierClock clock = {});
  // Of as many devices as the layout says.
  TierModel(std::vector<TierDevice> devices, const TierLayout& layout, TierMeter* meter,
            TierClock clock = {});

  // Around each operation: begin(), the operation, finish() with what begin() returned. finish()
  // blocks until the device would have been done; where the operation itself took longer it returns
  // at once. Without it nothing is charged: an operation that failed before it reached the device.
  // Both on the thread that does the operation, whose lateness they keep. Throws IoError only where
  // the shared state cannot be locked.
  TimePoint begin() const { return clock_.now(); }
  void finish(TimePoint begun, const TierOperation& operation);

  // What finish() is made of, for those who let many operations wait without a thread for each:
  //
  //   TierPassage passage = model.enter(arrival, operation);
  //   while (passage.left > 0) { (until passage.at) model.go_on(passage); }
  //   (until passage.at, or until the operation itself is done)
  //   model.passed(arrival, passage.at, done);
  //
  // The parts are to be asked for in the order of their times, all operations together. arrival:
  // when the device got it, which may be past, but not before what was asked for until then.
  // passed() counts what the operation took longer than its model. IoError as finish().
  TierPassage enter(TimePoint arrival, const TierOperation& operation);
  void go_on(TierPassage& passage);
  void passed(TimePoint arrival, TimePoint modelled, TimePoint done);

 private:
  Clock::duration since(TimePoint time) const;
  void overran(Clock::duration by);

  std::vector<TierDevice> devices_;
  const TierLayout layout_;
  TierMeter* const meter_;
  const TierClock clock_;
  ThreadSlots<std::atomic<Clock::rep>> late_;  // by which a thread's last sleep was too long
  std::atomic<Clock::rep> modelled_{0};        // what the operations took by the model
  std::atomic<Clock::rep> overrun_{0};         // and what they took longer
};

// What a call on an object or a file is to a device: reads and writes move `bytes` bytes from
// `offset` on, everything else is metadata.
TierOperation tier_operation(FileCall::Op op, const std::string& path, uint64_t offset,
                             uint64_t bytes);

// Charges every call of a FileTree to a model: read and write their bytes, everything else (sync,
// create, rename, list, ...) the latency of metadata. A call that failed costs its latency. A sync
// has nothing else to wait for: writes have waited already. Mapping a file is refused (EOPNOTSUPP),
// as reads through memory could not be charged; callers then read. Any thread, several calls at
// once.
class TierLayer final : public FileLayer {
 public:
  explicit TierLayer(std::shared_ptr<TierModel> model) : model_(std::move(model)) {}
  int64_t call(const FileCall& call, const Next& next) override;

 private:
  std::shared_ptr<TierModel> model_;
};

// What an emulated tier is beside Storage, for those who let its callers wait in a way of their
// own (`stoker mount`). What both return lives as long as the tier. Any thread.
class Emulates {
 public:
  virtual ~Emulates() = default;
  // The device: whoever reads data() charges it.
  virtual TierModel& model() const = 0;
  // The tier below, where nothing waits.
  virtual const Storage& data() const = 0;
};

}  // namespace stoker
