#include "app/tools/doctor/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/tools/bench/bench_tier.h"
#include "app/tools/doctor/short_run.h"
#include "io/core/system/file.h"
#include "io/core/text/text.h"
#include "io/experiment/saving_options.h"
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
  if (evidence.saves) options.overrides.emplace_back("checkpoint.resume=none");
  return options;
}

// A folder on each tier that a run saves to. It goes with the run's sets, so that no run meets the
// sets of another one.
class TrialSets {
 public:
  // Adds the folder to the overrides of the run.
  explicit TrialSets(ShortRunOptions& run) {
    const std::string folder = bench_folder_name();
    run.overrides.push_back("checkpoint.directory=" + folder);
    std::vector<std::string> overrides = run.overrides;
    overrides.push_back("run.dir=" + run.directory);
    const SavingOptions options = read_saving_options(load_experiment(run.config, overrides), {});
    for (const std::string& tier : options.checkpoint.info().tiers) {
      tiers_.push_back(options.storage.at(tier).create({tier, {}}));
      add_bench_folder(folders_, *tiers_.back(), folder);
    }
  }

 private:
  std::vector<std::unique_ptr<Storage>> tiers_;
  std::vector<std::unique_ptr<BenchFolder>> folders_;
};

// A run's images/s.
double run_once(ShortRunOptions options, const std::string& name,
                const std::vector<std::string>& overrides, bool saves) {
  options.name = name;
  options.overrides.insert(options.overrides.end(), overrides.begin(), overrides.end());
  std::optional<TrialSets> sets;
  if (saves) sets.emplace(options);
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
    trial.as_it_was.push_back(run_once(common, "as-it-was", {}, evidence.saves));
    trial.changed.push_back(run_once(common, "changed", overrides, evidence.saves));
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
