#include "app/bench/headspace_verdict.h"

#include <algorithm>

#include "app/base/statistics.h"

namespace stoker {

HeadspaceVerdict judge(const std::vector<HeadspaceLevel>& levels) {
  HeadspaceVerdict verdict;
  double device = 0;
  double above = 0;  // what reaches the device at the level above
  for (const HeadspaceLevel& level : levels) {
    if (level.images_per_s.empty()) continue;
    const double rate = spread(level.images_per_s).median;
    if (device == 0) device = above = rate;
    if (rate < device && verdict.binds_first.empty()) verdict.binds_first = level.name;
    const double reaches = std::min(rate, device);
    if (above / reaches > verdict.drop) {
      verdict.largest_drop = level.name;
      verdict.drop = above / reaches;
    }
    above = reaches;
  }
  return verdict;
}

}  // namespace stoker
