#pragma once

#include <optional>
#include <string>

#include "io/core/config/config.h"
#include "io/metrics/clock.h"

namespace stoker {

// When a read is late, so that a second one is sent. A value.
struct HedgeAfter {
  double quantile = 0;     // of the tier's recent reads: 0.95; 0: `time` says it
  Clock::duration time{};  // since the read began
};

// How a configuration writes it.
template <>
struct Scalar<HedgeAfter> {
  static bool parse(const std::string& text, HedgeAfter& out);
  static std::string format(const HedgeAfter& value);
  static constexpr const char* expected =
      "a percentile from p50 to p99.9, or a time such as 20ms, up to 60s";
};

// What tiers have in common whose reads may now and then take many times as long as usual. A value.
struct TailOptions {
  std::optional<HedgeAfter> hedge;
  template <class V>
  void visit(V& v) {
    v("hedge", hedge,
      same_results("When a read is sent a second time, whose answer is taken if it comes first: "
                   "after this percentile of recent reads of its size (p95), or this time (20ms). "
                   "At most 3 % more reads are sent. Absent: never."));
  }
};

}  // namespace stoker
