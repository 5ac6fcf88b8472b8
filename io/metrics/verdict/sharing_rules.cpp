#include <fmt/format.h>

#include <algorithm>

#include "io/core/text/plural.h"
#include "io/metrics/verdict/finding.h"

namespace stoker {
namespace {

// Share of the cores. Where nobody counted who waits for one: whoever gets less did not want more.
constexpr double kOwn = 0.4;

// Computing on the CPU beside others: the device counts as busy while it waits for a core.
Findings contention(const Evidence& e) {
  const bool counted = e.waiting_threads.has_value();
  if (!e.on_host || !e.crowded() || (!counted && *e.own_cores < kOwn * e.cores)) return {};
  const double others = *e.others_cores, own = *e.own_cores, share = others / (own + others);
  return {{"cpu_contention",
           "Other processes take cores from this one, which computes on the CPU.",
           share,
           {fmt::format("of {:.0f} cores others kept {:.1f} busy, this process {:.1f}",
                        e.machine_cores, others, own)},
           {},
           "let this run have the machine, or fewer jobs on it",
           true,
           fmt::format("They had {:.0f} % of the processor time that was used.", 100 * share)}};
}

// An emulated device divides its rate between all processes that use it, as a real one does.
Findings shared_tier(const Evidence& e) {
  const double late = e.read_s > e.decode_s ? e.data_s : 0;
  const double lost = std::max(late, e.checkpoint_s);
  if (e.strangers <= 0 || lost <= 0) return {};
  return {{"shared_tier",
           fmt::format("Tier '{}' is shared with {} of other runs: its rate is divided "
                       "between them.",
                       e.shared_tier, plural(counted(e.strangers), "process")),
           e.share(lost),
           {fmt::format("{:.0f} processes used the emulated device of tier '{}' at a time",
                        e.strangers + 1, e.shared_tier)},
           {fmt::format("storage.{}.shared=false", e.shared_tier)},
           "let one run at a time use the tier"}};
}

}  // namespace

Findings sharing_findings(const Evidence& e) {
  Findings findings = contention(e);
  const Findings tier = shared_tier(e);
  findings.insert(findings.end(), tier.begin(), tier.end());
  return findings;
}

}  // namespace stoker
