#include "app/tools/doctor/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/base/progress_line.h"
#include "io/core/text/json.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

std::string finding_text(const Finding& finding, size_t place) {
  const std::string share =
      finding.price.empty() ? fmt::format(" ({:.1f} % of the time)", 100 * finding.cost) : "";
  const std::string price = finding.price.empty() ? "" : " " + finding.price;
  std::string text =
      fmt::format("{}. {}{}: {}{}\n", place, finding.cause, share, finding.text, price);
  for (const std::string& line : finding.evidence) text += fmt::format("     {}\n", line);
  if (!finding.overrides.empty()) text += fmt::format("   try: {}\n", finding.next());
  if (finding.advice.empty()) return text;
  return text +
         fmt::format("   {}: {}\n", finding.overrides.empty() ? "advice" : "or", finding.advice);
}

void print_trial(const Trial& trial) {
  const char* verdict = "cannot tell: the interval holds zero";
  if (trial.helped()) verdict = "it helped";
  if (trial.hurt()) verdict = "it made things worse";
  fmt::print(
      "verified with {} of {} each: images/s {:+.1f} % (95 % interval {:+.1f} to "
      "{:+.1f} %): {}\n",
      plural(trial.as_it_was.size() + trial.changed.size(), "run"), plural(trial.steps, "step"),
      100 * trial.difference.value, 100 * trial.difference.low, 100 * trial.difference.high,
      verdict);
}

// The first finding decides, and has something to try.
bool proposes(const Verdict& verdict) {
  return !verdict.findings.empty() && verdict.findings.front().cause == verdict.cause &&
         !verdict.findings.front().overrides.empty();
}

// One setting depends on another: where loading is to be otherwise, `stoker tune` tries them
// together.
std::string search_of(const RunFiles& run, const Verdict& verdict) {
  if (!proposes(verdict)) return "";
  const auto& overrides = verdict.findings.front().overrides;
  const bool loads = std::ranges::any_of(
      overrides, [](const std::string& each) { return each.starts_with("loader."); });
  if (!loads) return "";
  return fmt::format("which settings together have the most images/s: stoker tune {}\n",
                     shell_word(run.path("config.yaml")));
}

}  // namespace

std::string to_text(const Verdict& verdict) {
  std::string text =
      fmt::format("{} ({}): {}\n", title_of(verdict.level), verdict.cause, verdict.text);
  for (const std::string& line : verdict.evidence) text += fmt::format("  {}\n", line);
  if (verdict.level == Verdict::Level::fine && !verdict.findings.empty()) text += "small costs:\n";
  for (size_t i = 0; i < verdict.findings.size(); ++i) {
    text += finding_text(verdict.findings[i], i + 1);
  }
  return text;
}

ExitCode examine_run(const DoctorArguments& arguments) {
  const RunFiles run = read_run_outcome(newest_run(arguments.run, true));
  if (run.directory != arguments.run) print_note("the newest run: " + run.directory);
  const Verdict verdict = using_files_of({run.directory}, [&] { return verdict_of(run); });
  if (!arguments.json) fmt::print("{}{}", to_text(verdict), search_of(run, verdict));
  std::fflush(stdout);
  std::optional<Trial> trial;
  if (arguments.verify && proposes(verdict)) {
    trial = try_overrides(run, verdict.findings.front().overrides, arguments, print_note);
  }
  if (arguments.json) {
    nlohmann::json json = verdict;
    if (trial) json["verified"] = *trial;
    fmt::print("{}\n", json_text(json, 2));
  } else if (trial) {
    print_trial(*trial);
  } else if (arguments.verify) {
    const bool others = std::ranges::any_of(
        verdict.findings, [](const Finding& each) { return !each.overrides.empty(); });
    fmt::print("nothing to verify: no override is proposed for the verdict{}\n",
               others ? "; those above are for smaller costs" : "");
  }
  return ExitCode::ok;
}

}  // namespace stoker
