#include <fmt/format.h>

#include "app/analysis/doctor/finding.h"

namespace stoker {
namespace {

constexpr double kAlwaysCopying = 0.85;  // of the time

}  // namespace

Findings copy_findings(const Evidence& e) {
  if (e.h2d_s <= 0) return {};
  const double cost = e.share(e.h2d_s);
  Finding finding{"h2d_copy", "", cost, {}, {}, "", gain_of(cost)};
  finding.evidence = {
      fmt::format("the device waited {:.1f} % of its {:.1f} s for copies to it", 100 * cost,
                  e.total_s),
      fmt::format("copies were under way in {:.0f} % of the time", 100 * e.share(e.copy_s))};
  if (e.share(e.copy_s) > kAlwaysCopying) {
    finding.text =
        "Batches are copied to the device one after the other, without a pause: fewer bytes.";
    finding.advice = "smaller samples (decoder.size), or a faster link to the device";
  } else if (!e.copies_ahead) {
    finding.text = "Copies to the device are not hidden behind its work: make them ahead.";
    finding.overrides = {"loader.type=device_prefetched"};
  } else {
    finding.text = "Copies are made ahead, and still come late.";
    finding.advice = "larger loader.device_batches";
  }
  return {finding};
}

}  // namespace stoker
