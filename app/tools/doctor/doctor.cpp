#include "app/tools/doctor/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/base/progress_line.h"
#include "io/core/text/json.h"
#include "io/metrics/verdict.h"

namespace stoker {
namespace {

constexpr int64_t kFewSteps = 5;
constexpr double kShort_s = 0.5;
constexpr double kNothing = 1e-3;  // a cost that is not worth a line

const char* name_of(Diagnosis::Outcome outcome) {
  if (outcome == Diagnosis::Outcome::bound) return "bound";
  return outcome == Diagnosis::Outcome::fine ? "fine" : "unknown";
}

// Why nothing can be said; empty: something can.
std::string hindrance(const Evidence& e) {
  if (e.status == "failed") return "the run failed: " + e.error;
  if (e.steps < kFewSteps || e.wall_s < kShort_s) {
    return fmt::format("{} steps in {:.2f} s are too few: at least {} steps and {:g} s", e.steps,
                       e.wall_s, kFewSteps, kShort_s);
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

std::vector<std::string> overall(const Evidence& e) {
  std::vector<std::string> lines{fmt::format(
      "{} busy {:.1f} % of {:.1f} s, {:.0f} images/s", e.device_observed ? "device" : "trainer",
      100 * e.share(e.busy_s), e.total_s, static_cast<double>(e.images) / e.wall_s)};
  if (e.production_s() > 0) {
    lines.push_back(
        fmt::format("headspace: {} workers that never paused would deliver {:.0f} images/s",
                    e.workers, e.reads / e.production_s()));
  }
  return lines;
}

void rank(Findings& findings) {
  std::erase_if(findings, [](const Finding& finding) { return finding.cost < kNothing; });
  std::ranges::stable_sort(findings, std::ranges::greater(), &Finding::cost);
}

void print_finding(const Finding& finding, size_t place) {
  fmt::print("{}. {} ({:.1f} % of the time): {}\n", place, finding.resource, 100 * finding.cost,
             finding.text);
  for (const std::string& line : finding.evidence) fmt::print("     {}\n", line);
  if (!finding.overrides.empty()) {
    fmt::print("   try: {}", fmt::join(finding.overrides, " "));
    if (finding.gain() > 0) fmt::print("   (at best {:+.0f} % images/s)", 100 * finding.gain());
    fmt::print("\n");
  }
  if (!finding.advice.empty()) {
    fmt::print("   {}: {}\n", finding.overrides.empty() ? "advice" : "or", finding.advice);
  }
}

void print_diagnosis(const Diagnosis& diagnosis) {
  fmt::print("{}: {}\n", diagnosis.resource, diagnosis.text);
  for (const std::string& line : diagnosis.evidence) fmt::print("  {}\n", line);
  if (diagnosis.outcome == Diagnosis::Outcome::fine && !diagnosis.findings.empty()) {
    fmt::print("small costs:\n");
  }
  for (size_t i = 0; i < diagnosis.findings.size(); ++i) {
    print_finding(diagnosis.findings[i], i + 1);
  }
}

void print_trial(const Trial& trial) {
  const char* verdict = "cannot tell: the interval holds zero";
  if (trial.helped()) verdict = "it helped";
  if (trial.hurt()) verdict = "it made things worse";
  fmt::print(
      "verified with {} runs of {} steps each: images/s {:+.1f} % (95 % interval {:+.1f} to "
      "{:+.1f} %): {}\n",
      trial.as_it_was.size() + trial.changed.size(), trial.steps, 100 * trial.difference.value,
      100 * trial.difference.low, 100 * trial.difference.high, verdict);
}

std::optional<Trial> verify(const RunFiles& run, const Diagnosis& diagnosis,
                            const DoctorArguments& arguments) {
  if (!arguments.verify || diagnosis.outcome != Diagnosis::Outcome::bound ||
      diagnosis.findings.front().overrides.empty()) {
    return std::nullopt;
  }
  return try_overrides(run, diagnosis.findings.front().overrides, arguments, print_note);
}

}  // namespace

Diagnosis diagnose(const RunFiles& run) {
  const Evidence e = gather(run);
  Diagnosis diagnosis;
  diagnosis.resource = "unknown";
  diagnosis.text = hindrance(e);
  if (e.wall_s > 0) diagnosis.evidence = overall(e);
  if (!diagnosis.text.empty()) {
    diagnosis.text = "Cannot say: " + diagnosis.text + ".";
    return diagnosis;
  }
  for (const Findings& group :
       {input_findings(e), copy_findings(e), checkpoint_findings(e, run.summary), host_findings(e),
        rank_findings(e, run.summary)}) {
    diagnosis.findings.insert(diagnosis.findings.end(), group.begin(), group.end());
  }
  rank(diagnosis.findings);
  if (diagnosis.findings.empty() || diagnosis.findings.front().cost < kModerateShare) {
    diagnosis.outcome = Diagnosis::Outcome::fine;
    diagnosis.resource = "compute";
    diagnosis.text = fmt::format(
        "Nothing is wrong: computing binds the run, and nothing else costs {:.0f} % of its time.",
        100 * kModerateShare);
    return diagnosis;
  }
  diagnosis.outcome = Diagnosis::Outcome::bound;
  diagnosis.resource = diagnosis.findings.front().resource;
  diagnosis.text = diagnosis.findings.front().text;
  return diagnosis;
}

void to_json(nlohmann::json& json, const Diagnosis& diagnosis) {
  json = {{"outcome", name_of(diagnosis.outcome)},
          {"resource", diagnosis.resource},
          {"text", diagnosis.text},
          {"evidence", diagnosis.evidence},
          {"findings", nlohmann::json::array()}};
  for (const Finding& finding : diagnosis.findings) {
    nlohmann::json entry = {{"resource", finding.resource},
                            {"text", finding.text},
                            {"cost", finding.cost},
                            {"evidence", finding.evidence},
                            {"overrides", finding.overrides}};
    if (!finding.advice.empty()) entry["advice"] = finding.advice;
    if (finding.gain() > 0) entry["gain_at_best"] = finding.gain();
    json["findings"].push_back(entry);
  }
}

ExitCode examine_run(const DoctorArguments& arguments) {
  const RunFiles run = read_run(newest_run(arguments.run, true));
  if (run.directory != arguments.run) print_note("the newest run: " + run.directory);
  const Diagnosis diagnosis = using_files_of({run.directory}, [&] { return diagnose(run); });
  if (!arguments.json) print_diagnosis(diagnosis);
  std::fflush(stdout);
  const std::optional<Trial> trial = verify(run, diagnosis, arguments);
  if (arguments.json) {
    nlohmann::json json = diagnosis;
    if (trial) json["verified"] = *trial;
    fmt::print("{}\n", json_text(json, 2));
  } else if (trial) {
    print_trial(*trial);
  } else if (arguments.verify) {
    fmt::print("nothing to verify: no override is proposed\n");
  }
  return ExitCode::ok;
}

}  // namespace stoker
