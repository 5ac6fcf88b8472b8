#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "io/metrics/clock.h"

namespace stoker {

// What readers of a mounted tier asked for, and how long they waited. Any thread.
class MountStatistics {
 public:
  // Totals of one kind of requests. A value.
  struct Totals {
    int64_t requests = 0;
    int64_t failed = 0;
    uint64_t bytes = 0;
    double waited_s = 0;    // sum of the times from a request's arrival here to its answer
    double modelled_s = 0;  // sum of what an emulated device would have taken
  };

  // An open or a read is answered. modelled: 0 where there is no model.
  void opened(bool failed, Clock::duration waited, Clock::duration modelled);
  void read(uint64_t bytes, bool failed, Clock::duration waited, Clock::duration modelled);
  // Counts that the pages of this many files were dropped.
  void dropped(int64_t files);

  Totals opens() const { return opens_.totals(); }
  Totals reads() const { return reads_.totals(); }
  nlohmann::json json() const;
  std::string text() const;

 private:
  class Counts {
   public:
    void add(uint64_t bytes, bool failed, Clock::duration waited, Clock::duration modelled);
    Totals totals() const;

   private:
    std::atomic<int64_t> requests_{0};
    std::atomic<int64_t> failed_{0};
    std::atomic<uint64_t> bytes_{0};
    std::atomic<Clock::rep> waited_{0};
    std::atomic<Clock::rep> modelled_{0};
  };
  // Requests of up to 4 KiB, 8 KiB, ... 1 MiB, and larger ones.
  static constexpr size_t kSizes = 10;

  Counts opens_;
  Counts reads_;
  std::array<std::atomic<int64_t>, kSizes> sizes_{};
  std::atomic<int64_t> drops_{0};
  std::atomic<int64_t> dropped_{0};
};

}  // namespace stoker
