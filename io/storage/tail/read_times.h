#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "io/metrics/clock.h"
#include "io/storage/storage.h"

namespace stoker {

// A quantile of how long recent reads of a tier took, apart for each size: reads of whole objects,
// and ranges by powers of four. Any thread. A read adds two numbers to counters and takes no lock;
// the quantile is looked up anew at every 32nd.
//
// Counted are times in steps of an eighth of their power of two; when a size has 4096, all its
// counts are halved, so that older reads count less and less.
class ReadTimes {
 public:
  // quantile: above 0 and below 1.
  explicit ReadTimes(double quantile);

  // A read of this range took so long. One that was given up: for as long as it was waited for.
  void add(const Range& range, Clock::duration took);
  // The time that this share of the reads of its size took at most, rounded up to a step. Nothing:
  // too few were seen (64, and two beyond the quantile).
  std::optional<Clock::duration> limit(const Range& range) const;

 private:
  static constexpr size_t kSizes = 34;   // whole objects, and powers of four of bytes
  static constexpr size_t kSteps = 224;  // from 1 us to 275 s
  struct Size {
    std::array<std::atomic<uint32_t>, kSteps> counts{};
    std::atomic<uint32_t> added{0};
    std::atomic<int64_t> limit_ns{0};  // 0: not known
  };
  static size_t size_of(const Range& range);
  static size_t step_of(Clock::duration took);
  static int64_t end_of(size_t step);
  // Sets the limit by the counts.
  void look(Size& size) const;

  const double quantile_;
  const uint64_t least_;
  std::array<Size, kSizes> sizes_{};
};

}  // namespace stoker
