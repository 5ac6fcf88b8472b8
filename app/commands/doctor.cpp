#include "app/analysis/doctor/doctor.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/analysis/doctor/trial.h"
#include "app/commands/commands.h"

namespace stoker {
namespace {

constexpr const char* kFooter = R"(
--verify repeats the run in child processes, as it was and with the proposed overrides, A B A B: --rounds of
them, each of about --seconds, in RUN/verify. Start it where the run was started: paths of the configuration may be
relative. Checkpoints of these runs go to the folder doctor-verify on their tiers, and stay there.)";

struct Arguments : TrialOptions {
  std::string run;
  bool verify = false;
  bool json = false;
};

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

void print(const Diagnosis& diagnosis) {
  fmt::print("{}: {}\n", diagnosis.resource, diagnosis.text);
  for (const std::string& line : diagnosis.evidence) fmt::print("  {}\n", line);
  if (diagnosis.outcome == Diagnosis::Outcome::fine && !diagnosis.findings.empty()) {
    fmt::print("small costs:\n");
  }
  for (size_t i = 0; i < diagnosis.findings.size(); ++i) {
    print_finding(diagnosis.findings[i], i + 1);
  }
}

void print(const Trial& trial) {
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
                            const Arguments& arguments) {
  if (!arguments.verify || diagnosis.outcome != Diagnosis::Outcome::bound ||
      diagnosis.findings.front().overrides.empty()) {
    return std::nullopt;
  }
  return try_overrides(run, diagnosis.findings.front().overrides, arguments,
                       [](const std::string& text) { fmt::print(stderr, "{}\n", text); });
}

void examine(const Arguments& arguments) {
  const RunFiles run = read_run(arguments.run);
  const Diagnosis diagnosis = diagnose(run);
  if (!arguments.json) print(diagnosis);
  std::fflush(stdout);
  const std::optional<Trial> trial = verify(run, diagnosis, arguments);
  if (arguments.json) {
    nlohmann::json json = diagnosis;
    if (trial) json["verified"] = *trial;
    fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else if (trial) {
    print(*trial);
  } else if (arguments.verify) {
    fmt::print("nothing to verify: no override is proposed\n");
  }
}

}  // namespace

void add_doctor(CLI::App& app, ExitCode& result) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "doctor", "Say what holds a run up, by what evidence, and which setting to try");
  command->footer(kFooter);
  command->add_option("RUN", arguments->run, "the directory of a run that has ended")->required();
  command->add_flag("--verify", arguments->verify, "try the first proposal");
  command->add_option("--rounds", arguments->rounds, "pairs of runs")
      ->check(CLI::Range(2, 1000))
      ->capture_default_str();
  command->add_option("--seconds", arguments->seconds, "of a run, about")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--steps", arguments->steps, "of a run, in the place of --seconds")
      ->check(CLI::PositiveNumber);
  command->add_option("--dir", arguments->directory, "where these runs go; default: RUN/verify");
  command->add_flag("--json", arguments->json, "print JSON");
  command->callback([arguments, &result] {
    examine(*arguments);
    result = ExitCode::ok;
  });
}

}  // namespace stoker
