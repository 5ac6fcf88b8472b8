#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "io/metrics/checkpoint_report.h"
#include "io/metrics/tally.h"
#include "io/metrics/tracer.h"

namespace stoker {

// Parts of a checkpoint's way: `blocked` is the trainer's (all it waited for one checkpoint),
// `snapshot` the copy into staging memory, `write` from the copy to the commit on the first tier,
// `save` from the offer to that commit, `drain` from the begin of the copy to the commit on the
// last tier.
enum class CheckpointPart { blocked, snapshot, write, save, drain, restore };
inline constexpr size_t kCheckpointParts = 6;
const char* to_string(CheckpointPart part);

// What checkpoints cost and how they stand. Any thread.
class CheckpointMeter {
 public:
  explicit CheckpointMeter(Tracer& tracer) : tracer_(tracer) {}

  void finished(CheckpointPart part, TimePoint begin, TimePoint end, int64_t step,
                uint64_t bytes = 0);
  void set_status(const CheckpointReport& report);

  struct State {
    std::array<Tally::Totals, kCheckpointParts> parts;
    std::array<std::optional<double>, kCheckpointParts> last_s;  // of the newest
    std::optional<CheckpointReport> report;                      // absent: no checkpoints
    std::optional<double> last_save_unix_s;
  };
  State state() const;

 private:
  Tracer& tracer_;
  mutable std::mutex mutex_;
  std::array<Tally, kCheckpointParts> tallies_;
  State state_;
};

}  // namespace stoker
