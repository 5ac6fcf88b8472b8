#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "io/core/text/json.h"
#include "io/core/text/text.h"
#include "io/metrics/verdict/verdict.h"

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

// What the straggler itself waits for is in its own summary, which the doctor reads like any other.
Findings rank_findings(const Evidence& e, const nlohmann::json& summary) {
  const double cost = e.share(e.peers_s);
  constexpr double kLeast = 0.001;
  if (cost < kLeast) return {};
  Finding finding{
      "rank",
      "The device waits for the gradients of other ranks.",
      cost,
      {fmt::format("{:.2f} s of {:.1f} s were waited for other ranks, beyond the exchange "
                   "itself",
                   e.peers_s, e.total_s)}};
  const std::optional<double> rank = number_at(summary, "all_ranks.straggler.rank");
  const nlohmann::json& cause = member_at(summary, "all_ranks.straggler.cause");
  if (!rank || !cause.is_string()) {
    finding.advice = "no single rank is to blame: steps differ from rank to rank and time to time";
    return {finding};
  }
  const std::string name = cause.get<std::string>();
  finding.text = fmt::format("Rank {} holds the others up, by its {}.", *rank, name);
  finding.evidence.push_back(
      fmt::format("it needs {:.2f} s more than the others for its {}",
                  number_at(summary, "all_ranks.straggler.excess_s").value_or(0), name));
  finding.advice = *rank == 0 ? std::string("mend what it waits for: the findings beside this one")
                              : fmt::format("look at that rank: stoker doctor RUN/rank-{}", *rank);
  return {finding};
}

}  // namespace stoker
