#include "io/metrics/verdict/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "io/core/text/json.h"
#include "io/core/text/text.h"
#include "io/metrics/idle.h"

namespace stoker {
namespace {

using Json = nlohmann::json;
using Level = Verdict::Level;

constexpr int64_t kFewSteps = 5;
constexpr double kShort_s = 0.5;
constexpr double kNothing = 1e-3;  // a cost that is not worth a line

struct LevelNames {
  const char* word;
  const char* title;
};
constexpr std::array<LevelNames, 10> kLevels{{{"unknown", "Not known yet"},
                                              {"fine", "Fine"},
                                              {"moderate", "Moderate"},
                                              {"input_bound", "Input-bound"},
                                              {"host_bound", "Host-bound"},
                                              {"checkpoint_bound", "Checkpoint-bound"},
                                              {"peers_bound", "Held up by another rank"},
                                              {"contended", "Held up by other processes"},
                                              {"stalled", "Stalled"},
                                              {"failed", "Failed"}}};

// Of a finding that takes more than kBoundShare. What is not named is the input's.
Level level_of(const std::string& cause) {
  constexpr std::pair<std::string_view, Level> kCauses[] = {
      {"cpu_contention", Level::contended},
      {"shared_tier", Level::contended},
      {"checkpoint_write", Level::checkpoint_bound},
      {"checkpoint_drain", Level::checkpoint_bound},
      {"evaluation", Level::host_bound},
      {"reporting", Level::host_bound},
      {"measuring", Level::host_bound},
      {"host_overhead", Level::host_bound},
      {"rank", Level::peers_bound}};
  const auto* found = std::ranges::find(kCauses, cause, &std::pair<std::string_view, Level>::first);
  return found == std::end(kCauses) ? Level::input_bound : found->second;
}

double value_at(const Json& tree, std::string_view path) {
  return number_at(tree, path).value_or(0);
}

// What waiting for data cost. A wait costs nothing while the device still has work.
std::string waiting(const Json& record) {
  const double waited = value_at(record, "io_share");
  const double exposed = value_at(record, "exposed_io_share");
  const double hidden = waited - exposed;
  std::string text = fmt::format("the trainer waited {:.1f} % of its time for data", 100 * waited);
  if (value_at(record, "device.observed_s") <= 0) return text;
  if (hidden < kNothing)
    return text + fmt::format("; the device lost {:.1f} % for it", 100 * exposed);
  return text + fmt::format(
                    ", of which {:.1f} points were hidden behind queued steps; the device lost "
                    "{:.1f} % for it",
                    100 * hidden, 100 * exposed);
}

void add_idle(const Json& record, std::vector<std::string>& lines) {
  const Json& shares = member_at(record, "device.idle_share_by_cause");
  std::string causes;
  for (const auto& [cause, share] : shares.items()) {
    if (share.get<double>() < kNothing) continue;
    causes +=
        fmt::format("{}{} {:.1f} %", causes.empty() ? "" : ", ", cause, 100 * share.get<double>());
  }
  if (!causes.empty()) lines.push_back("device idle because of " + causes);
}

void add_queues(const Json& record, std::vector<std::string>& lines) {
  for (const auto& [name, queue] : member_at(record, "loaders.train.queues").items()) {
    const auto empty = number_at(queue, "empty_share"), full = number_at(queue, "full_share");
    if (!empty || !full) continue;
    lines.push_back(fmt::format("queue '{}' empty {:.0f} %, full {:.0f} % of the time", name,
                                100 * *empty, 100 * *full));
  }
}

// "rank 2 holds the others up, by its data: ..."; empty: no rank does.
std::string straggler(const Json& record) {
  const Json& of = member_at(record, "all_ranks.straggler");
  if (!of.is_object()) return "";
  return fmt::format(
      "rank {} holds the others up, by its {}: {:.2f} s more than theirs, which cost them {:.0f} % "
      "of their time",
      value_at(of, "rank"), of.at("cause").get<std::string>(), value_at(of, "excess_s"),
      100 * value_at(of, "share"));
}

std::vector<std::string> overall(const Json& record, const Evidence& e) {
  std::vector<std::string> lines{waiting(record)};
  lines.push_back(fmt::format("{} busy {:.1f} % of {:.1f} s, {:.0f} images/s",
                              e.device_observed ? "device" : "trainer", 100 * e.share(e.busy_s),
                              e.total_s, static_cast<double>(e.images) / e.wall_s));
  add_idle(record, lines);
  if (e.production_s() > 0) {
    lines.push_back(
        fmt::format("headspace: at most {:.0f} images/s, by {} that never paused and did not hold "
                    "each other up at the storage or the cores",
                    e.reads / e.production_s(), plural(e.workers, "worker")));
  }
  const double paused = value_at(record, "segments_s.paused");
  if (paused > 0) {
    lines.push_back(fmt::format(
        "the process stood still for {:.1f} s (stopped, frozen or without a processor), which is "
        "no part of the device's time",
        paused));
  }
  add_queues(record, lines);
  if (const std::string slow = straggler(record); !slow.empty()) lines.push_back(slow);
  if (e.strangers > 0) {
    lines.push_back(fmt::format("{} of other runs used the emulated tier '{}'",
                                plural(counted(e.strangers), "process"), e.shared_tier));
  }
  return lines;
}

// Why nothing can be said; empty: something can.
std::string hindrance(const Evidence& e) {
  if (e.steps < kFewSteps || e.wall_s < kShort_s) {
    return fmt::format("{} in {:.2f} s are too few: at least {} steps and {:g} s",
                       plural(e.steps, "step"), e.wall_s, kFewSteps, kShort_s);
  }
  const double lost = e.total_s - e.busy_s;
  if (e.fill_s > 0.5 * lost && e.share(e.fill_s) > kModerateShare) {
    return fmt::format(
        "of the {:.2f} s that the device lost, {:.2f} s are the first filling of the pipeline, "
        "which a longer run does not have more of: at least {} steps",
        lost, e.fill_s,
        counted(static_cast<double>(e.steps) * (1 + e.share(e.fill_s) / kModerateShare)));
  }
  return "";
}

Findings findings_of(const Evidence& e, const Json& record) {
  Findings all;
  for (const Findings& group :
       {sharing_findings(e), input_findings(e), copy_findings(e), checkpoint_findings(e, record),
        host_findings(e), rank_findings(e, record)}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  std::erase_if(all, [](const Finding& finding) { return finding.cost < kNothing; });
  std::ranges::stable_sort(all, std::ranges::greater(), &Finding::cost);
  return all;
}

Json judged(std::optional<double> share) {
  if (!share) return {};
  if (*share > kBoundShare) {
    return {{"level", "bound"}, {"text", fmt::format("bound, over {:.0f} %", 100 * kBoundShare)}};
  }
  if (*share >= kModerateShare) {
    return {{"level", "moderate"},
            {"text",
             fmt::format("moderate, {:.0f} to {:.0f} %", 100 * kModerateShare, 100 * kBoundShare)}};
  }
  return {{"level", "fine"}, {"text", fmt::format("fine, under {:.0f} %", 100 * kModerateShare)}};
}

}  // namespace

const char* to_string(Level level) { return kLevels[static_cast<size_t>(level)].word; }
std::string title_of(const std::string& word) {
  const auto* found = std::ranges::find(kLevels, word, &LevelNames::word);
  return found == std::end(kLevels) ? word : found->title;
}
const char* title_of(Level level) { return kLevels[static_cast<size_t>(level)].title; }

std::string Finding::next() const {
  if (overrides.empty()) return advice;
  std::string text = fmt::format("{}", fmt::join(overrides, " "));
  if (gain() > 0) text += fmt::format(" (at best {:+.0f} % images/s)", 100 * gain());
  return text;
}

Verdict judge(const Json& record, const Node& config) {
  const Evidence e = gather(record, config);
  Verdict verdict;
  if (e.wall_s > 0) verdict.evidence = overall(record, e);
  if (e.status == "failed") {
    verdict.level = Level::failed;
    verdict.text = "The run failed: " + e.error;
    return verdict;
  }
  if (const std::string why = hindrance(e); !why.empty()) {
    verdict.text = "Cannot say: " + why + ".";
    return verdict;
  }
  verdict.findings = findings_of(e, record);
  if (verdict.findings.empty() || verdict.findings.front().cost < kModerateShare) {
    verdict.level = Level::fine;
    verdict.cause = "compute";
    verdict.text = fmt::format(
        "Nothing is wrong: computing binds the run, and nothing else costs {:.0f} % of its time.",
        100 * kModerateShare);
    return verdict;
  }
  const Finding& first = verdict.findings.front();
  verdict.level = first.cost < kBoundShare ? Level::moderate : level_of(first.cause);
  verdict.cause = first.cause;
  const std::string price = fmt::format("It costs {:.0f} % of the {} time.", 100 * first.cost,
                                        e.device_observed ? "device's" : "trainer's");
  verdict.text = first.text + " " + (first.price.empty() ? price : first.price);
  verdict.next = first.next();
  return verdict;
}

void to_json(Json& json, const Verdict& verdict) {
  json = {{"level", to_string(verdict.level)},
          {"title", title_of(verdict.level)},
          {"cause", verdict.cause},
          {"text", verdict.text},
          {"next", verdict.next},
          {"evidence", verdict.evidence},
          {"findings", Json::array()}};
  for (const Finding& finding : verdict.findings) {
    Json entry = {{"cause", finding.cause},         {"text", finding.text},
                  {"cost", finding.cost},           {"evidence", finding.evidence},
                  {"overrides", finding.overrides}, {"next", finding.next()}};
    if (!finding.advice.empty()) entry["advice"] = finding.advice;
    if (finding.gain() > 0) entry["gain_at_best"] = finding.gain();
    json["findings"].push_back(entry);
  }
}

Json judged_shares(const Json& record) {
  Json out = {{"bounds", {kModerateShare, kBoundShare}}};
  if (Json of = judged(number_at(record, "exposed_io_share")); !of.is_null()) {
    out["exposed_io_share"] = of;
  }
  if (Json of = judged(number_at(record, "device.idle_share")); !of.is_null()) {
    out["device"]["idle_share"] = of;
  }
  return out;
}

}  // namespace stoker
