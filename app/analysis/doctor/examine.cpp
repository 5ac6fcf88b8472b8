#include "app/analysis/doctor/examine.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/analysis/doctor/doctor.h"

namespace stoker {
namespace {

void print_finding(const Finding& finding, size_t place) {
  fmt::print("{}. {} ({:.1f} % of the time): {}\n", place, finding.resource, 100 * finding.cost,
             finding.text);
  for (const std::string& line : finding.evidence) fmt::print("     {}\n", line);
  if (!finding.overrides.empty()) {
    fmt::print("   try: {}", fmt::join(finding.overrides, " "));
    if (finding.gain > 0) fmt::print("   (at best {:+.0f} % images/s)", 100 * finding.gain);
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
  return try_overrides(run, diagnosis.findings.front().overrides, arguments,
                       [](const std::string& text) { fmt::print(stderr, "{}\n", text); });
}

}  // namespace

ExitCode examine_run(const DoctorArguments& arguments) {
  const RunFiles run = read_run(arguments.run);
  const Diagnosis diagnosis = diagnose(run);
  if (!arguments.json) print_diagnosis(diagnosis);
  std::fflush(stdout);
  const std::optional<Trial> trial = verify(run, diagnosis, arguments);
  if (arguments.json) {
    nlohmann::json json = diagnosis;
    if (trial) json["verified"] = *trial;
    fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else if (trial) {
    print_trial(*trial);
  } else if (arguments.verify) {
    fmt::print("nothing to verify: no override is proposed\n");
  }
  return ExitCode::ok;
}

}  // namespace stoker
