#include "app/tools/doctor/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/tools/doctor/short_run.h"
#include "io/core/system/file.h"
#include "io/core/text/plural.h"
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

// What every run of the trial is given.
ShortRunOptions common_options(const RunFiles& run, const Evidence& evidence, const Trial& trial) {
  ShortRunOptions options{run.path("config.yaml"),
                          {fmt::format("training.max_steps={}", trial.steps)},
                          trial.directory,
                          "",
                          trial.directory + "/log.txt",
                          {},
                          {}};
  if (evidence.saves) {
    options.overrides.emplace_back("checkpoint.directory=.doctor-verify");
    options.overrides.emplace_back("checkpoint.resume=none");
  }
  return options;
}

// A run's images/s.
double run_once(ShortRunOptions options, const std::string& name,
                const std::vector<std::string>& overrides) {
  options.name = name;
  options.overrides.insert(options.overrides.end(), overrides.begin(), overrides.end());
  return whole_rate(short_run(options).summary);
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
  const ShortRunOptions common = common_options(run, evidence, trial);
  for (int64_t round = 1; round <= options.rounds; ++round) {
    trial.as_it_was.push_back(run_once(common, "as-it-was", {}));
    trial.changed.push_back(run_once(common, "changed", overrides));
    progress(fmt::format("round {} of {}, {} each: {:.1f} images/s as it was, {:.1f} changed",
                         round, options.rounds, plural(trial.steps, "step"), trial.as_it_was.back(),
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
