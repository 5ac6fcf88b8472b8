#include <fmt/format.h>

#include <algorithm>

#include "io/core/text/text.h"
#include "io/metrics/verdict/verdict.h"

namespace stoker {
namespace {

constexpr int64_t kRarer = 10;
constexpr int64_t kEightfoldBatch = 8;

Finding evaluation(const Evidence& e) {
  const double cost = e.share(std::min(e.eval_s, e.host_s));
  Finding finding{"evaluation",
                  "The device trains nothing while the network is evaluated.",
                  cost,
                  {fmt::format("{:.1f} s of {:.1f} s", e.eval_s, e.wall_s)},
                  {}};
  const int64_t every = whole_setting(e.config, "evaluation.every_epochs").value_or(0);
  if (every > 0) {
    finding.text += " Evaluate less often.";
    finding.overrides = {fmt::format("evaluation.every_epochs={}", kRarer * every)};
  } else {
    finding.overrides = {"evaluation.enabled=false"};
    finding.advice = "accept it: it is done once, and a longer run dilutes it";
  }
  return finding;
}

Finding reporting(const Evidence& e, double host) {
  const double cost = e.share(std::min(e.log_s, host));
  const int64_t every =
      std::max<int64_t>(1, whole_setting(e.config, "metrics.every_steps").value_or(1));
  return {"reporting",
          "The trainer writes reports while the device waits: report less often.",
          cost,
          {fmt::format("{:.2f} s of {:.1f} s are spent on reports, one every {}", e.log_s, e.wall_s,
                       plural(every, "step"))},
          {fmt::format("metrics.every_steps={}", kRarer * every)},
          "fewer metrics.sinks"};
}

// What is neither evaluation nor reports: launching steps, taking over batches.
Finding overhead(const Evidence& e, double rest) {
  const double cost = e.share(rest);
  return {"host_overhead",
          "The host is too slow in launching steps for steps this short: larger batches.",
          cost,
          {fmt::format("{:.2f} ms of the host's own work in a step of {:.2f} ms",
                       1e3 * rest / static_cast<double>(std::max<int64_t>(1, e.steps)),
                       1e3 * e.total_s / static_cast<double>(std::max<int64_t>(1, e.steps)))},
          {fmt::format("loader.batch_size={}", kEightfoldBatch * e.batch_size)}};
}

Finding measuring(const Evidence& e) {
  const double cost = std::min(1.0, e.measuring_s / std::max(e.wall_s, 1e-9));
  return {
      "measuring",
      "Measuring and reporting take time themselves.",
      cost,
      {fmt::format("{:.2f} s over all threads, in a loop of {:.1f} s", e.measuring_s, e.wall_s)},
      {"metrics.sinks=[{type: csv}]"},
      {},
      true,
      fmt::format("It takes {:.0f} % of one thread's time.", 100 * cost)};
}

}  // namespace

Findings host_findings(const Evidence& e) {
  Findings findings;
  const double host = std::max(0.0, e.host_s - e.eval_s);
  if (e.eval_s > 0) findings.push_back(evaluation(e));
  if (e.log_s > 0) findings.push_back(reporting(e, host));
  if (host > e.log_s) findings.push_back(overhead(e, host - e.log_s));
  if (e.measuring_s > 0) findings.push_back(measuring(e));
  return findings;
}

}  // namespace stoker
