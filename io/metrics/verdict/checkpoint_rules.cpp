#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "io/core/text/json.h"
#include "io/core/text/text.h"
#include "io/metrics/verdict/verdict.h"

namespace stoker {
namespace {

constexpr double kSpare = 1.25;  // factor on the interval, so that saves do not queue again

struct Saves {
  double saved;
  double save_s;   // median; 0: unknown
  double drain_s;  // likewise
  double flush_s;  // after the loop
  double left;     // drains
};

Saves saves_of(const nlohmann::json& checkpoints) {
  const auto of = [&](const char* name) { return number_at(checkpoints, name).value_or(0); };
  return {of("saved"), of("save_s.median"), of("drain_s.median"), of("flush_s"), of("drains_left")};
}

// Time from one save to the next, if none of them held training up.
double interval_s(const Evidence& e, const Saves& saves) {
  return (e.wall_s - e.checkpoint_s) / std::max(1.0, saves.saved);
}

// every_steps so that a save, or a drain, of `needed_s` fits between two. Empty: the configuration
// counts epochs or seconds.
std::vector<std::string> rarer(const Evidence& e, double needed_s, double interval_s) {
  const int64_t steps = whole_setting(e.config, "checkpoint.every_steps").value_or(0);
  if (steps == 0) return {};
  const double times = std::max<double>(1, needed_s / interval_s);
  return {fmt::format("checkpoint.every_steps={}",
                      counted(std::ceil(kSpare * times * static_cast<double>(steps))))};
}

// Another tier than the one that sets go to and the one that samples come from. Empty: none.
std::string fast_tier(const Evidence& e) {
  std::string fast = setting(e.config, "checkpoint.fast");
  if (!fast.empty()) return fast;
  const std::string slow = setting(e.config, "checkpoint.slow");
  const Node* tiers = e.config.find("storage");
  if (tiers == nullptr) return "";
  for (const Node::Entry& tier : tiers->entries) {
    if (tier.key != slow && tier.key != e.tier) return tier.key;
  }
  return "";
}

Finding stall(const Evidence& e, const Saves& saves) {
  const double cost = e.share(e.checkpoint_s), interval = interval_s(e, saves);
  Finding finding{"checkpoint_write", "", cost};
  finding.evidence = {fmt::format("checkpoints held the device up for {:.1f} % of its {:.1f} s",
                                  100 * cost, e.total_s),
                      fmt::format("{}, each durable {:.2f} s after it was begun (median), "
                                  "with {:.2f} s of training between two",
                                  plural(counted(saves.saved), "set"), saves.save_s, interval)};
  const bool direct = e.written.size() == 1;
  const bool async = e.snapshot == "async" || e.snapshot == "swap";
  const std::string fast = fast_tier(e);
  if (direct && !fast.empty()) {
    finding.text =
        fmt::format("Training waits for the slow tier: write to '{}' and drain later.", fast);
    finding.overrides = {"checkpoint.type=burst_buffer", "checkpoint.fast=" + fast};
  }
  if (!async) {
    if (finding.text.empty()) finding.text = "Training waits until a set is written: let it go on.";
    finding.overrides.emplace_back("checkpoint.snapshot=async");
  } else if (finding.overrides.empty()) {
    finding.text = "Saves take longer than the time between them, and queue: save less often.";
    finding.overrides = rarer(e, saves.save_s, interval);
  }
  finding.advice = fmt::format("save less often: a larger interval than {:.2f} s", interval);
  return finding;
}

Finding drain(const Evidence& e, const Saves& saves) {
  const double cost = saves.flush_s / (e.wall_s + saves.flush_s);
  const double interval = interval_s(e, saves);
  Finding finding{"checkpoint_drain", "", cost};
  finding.text = "The slow tier takes longer for a set than there is between two: sets pile up.";
  finding.evidence = {
      fmt::format("after the loop of {:.1f} s the run waited {:.1f} s for its drains", e.wall_s,
                  saves.flush_s),
      fmt::format("a drain takes {:.2f} s (median), {:.2f} s of training lie between two sets",
                  saves.drain_s, interval)};
  if (saves.left > 0) finding.evidence.push_back(fmt::format("{:.0f} were left over", saves.left));
  finding.overrides = rarer(e, saves.drain_s, interval);
  finding.advice = "save less often, or drain to a faster tier";
  finding.price =
      fmt::format("Waiting for them at the end costs {:.0f} % of the run's time.", 100 * cost);
  return finding;
}

}  // namespace

Findings checkpoint_findings(const Evidence& e, const nlohmann::json& summary) {
  const nlohmann::json& checkpoints = member_at(summary, "checkpoints");
  if (checkpoints.empty()) return {};
  const Saves saves = saves_of(checkpoints);
  Findings findings;
  if (e.checkpoint_s > 0) findings.push_back(stall(e, saves));
  if (saves.flush_s > 0 && (saves.drain_s > interval_s(e, saves) || saves.left > 0)) {
    findings.push_back(drain(e, saves));
  }
  return findings;
}

}  // namespace stoker
