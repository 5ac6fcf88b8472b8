#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "io/core/text/json.h"
#include "io/metrics/verdict/finding.h"

namespace stoker {

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
