#include "app/tools/doctor/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "io/core/error.h"
#include "io/core/system/child_process.h"
#include "io/core/system/file.h"
#include "io/core/text/json.h"
#include "io/metrics/verdict/evidence.h"

namespace stoker {
namespace {

constexpr int64_t kFewestSteps = 5;

int64_t steps_for(const Evidence& evidence, const TrialOptions& options) {
  if (options.steps) return *options.steps;
  if (evidence.wall_s <= 0) return std::max(kFewestSteps, evidence.steps);
  const double per_second = static_cast<double>(evidence.steps) / evidence.wall_s;
  return std::clamp(counted(std::ceil(options.seconds * per_second)), kFewestSteps,
                    std::max(kFewestSteps, evidence.steps));
}

double rate_of(const nlohmann::json& summary) {
  const double flush = number_at(summary, "checkpoints.flush_s").value_or(0);
  return summary.at("images").get<double>() / (summary.at("wall_s").get<double>() + flush);
}

// What every run of the trial is given.
std::vector<std::string> common_words(const RunFiles& run, const Evidence& evidence,
                                      const Trial& trial) {
  std::vector<std::string> words{"train", "--json", run.path("config.yaml"),
                                 fmt::format("training.max_steps={}", trial.steps),
                                 "run.dir=" + trial.directory};
  if (evidence.saves) {
    words.emplace_back("checkpoint.directory=.doctor-verify");
    words.emplace_back("checkpoint.resume=none");
  }
  return words;
}

// A run's images/s.
double run_once(std::vector<std::string> words, const std::string& name,
                const std::vector<std::string>& overrides, const std::string& log) {
  words.push_back("run.name=" + name);
  words.insert(words.end(), overrides.begin(), overrides.end());
  const ChildResult child = run_child(words, log);
  if (child.exit_code != 0) {
    throw Error(ExitCode::environment,
                fmt::format("run '{}' ended with exit code {}: see {}; paths in the configuration "
                            "are relative to where the run was started",
                            name, child.exit_code, log));
  }
  return rate_of(parse_json(child.output));
}

}  // namespace

Trial try_overrides(const RunFiles& run, const std::vector<std::string>& overrides,
                    const TrialOptions& options,
                    const std::function<void(const std::string&)>& progress) {
  const Evidence evidence = gather(record_of(run), parse_yaml(run.config, run.path("config.yaml")));
  Trial trial;
  trial.steps = steps_for(evidence, options);
  trial.directory = options.directory.empty() ? run.path("verify") : options.directory;
  make_directories(trial.directory);
  const std::vector<std::string> words = common_words(run, evidence, trial);
  const std::string log = trial.directory + "/log.txt";
  for (int64_t round = 1; round <= options.rounds; ++round) {
    trial.as_it_was.push_back(run_once(words, "as-it-was", {}, log));
    trial.changed.push_back(run_once(words, "changed", overrides, log));
    progress(fmt::format("round {} of {}, {} steps each: {:.1f} images/s as it was, {:.1f} changed",
                         round, options.rounds, trial.steps, trial.as_it_was.back(),
                         trial.changed.back()));
  }
  trial.difference = difference(trial.as_it_was, trial.changed, Differing::ratio);
  return trial;
}

void to_json(nlohmann::json& json, const Trial& trial) {
  json = {{"steps", trial.steps},
          {"images_per_s", {{"as_it_was", trial.as_it_was}, {"changed", trial.changed}}},
          {"difference", trial.difference.value},
          {"low", trial.difference.low},
          {"high", trial.difference.high},
          {"helped", trial.helped()},
          {"hurt", trial.hurt()},
          {"directory", trial.directory}};
}

}  // namespace stoker
