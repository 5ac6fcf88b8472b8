#include "app/tools/advise/advise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "app/base/command_line.h"
#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "app/experiment/experiment_options.h"
#include "app/process/stop_signal.h"
#include "app/tools/advise/achieved.h"
#include "app/tools/advise/advice.h"
#include "app/tools/advise/object_use.h"
#include "app/tools/darshan/darshan.h"
#include "io/core/system/child_process.h"
#include "io/core/system/file.h"
#include "io/core/text/json.h"
#include "io/core/text/text.h"
#include "io/experiment/experiment_data.h"
#include "io/loader/sampler.h"
#include "io/storage/cached/cached.h"
#include "io/storage/cached/plan_file.h"
#include "io/storage/file_tree.h"

namespace stoker {
namespace {

// The experiment that is advised on, and the run of it, where there was one.
struct Subject {  // NOLINT(bugprone-exception-escape): nlohmann::json's move
  ExperimentOptions options;
  std::optional<RunFiles> run;
  std::string tier;  // the data set's
  Component<Storage> slow, fast;
  bool cached = false;    // that tier is of both already
  std::string staged_by;  // its plan; empty: none
};

Subject subject_of(const AdviseArguments& arguments) {
  Subject subject;
  std::string config = arguments.config;
  if (std::filesystem::is_directory(config)) {
    subject.run = read_run(config);
    config = subject.run->path("config.yaml");
  }
  subject.options = read_experiment(config, arguments.overrides);
  subject.tier = subject.options.dataset.info().tier;
  if (subject.tier.empty()) {
    throw Error(ExitCode::config, "advise: this data set reads no tier: there is nothing to stage");
  }
  const Component<Storage>& tier = subject.options.storage.at(subject.tier);
  const auto* cached = tier.options<CachedOptions>();
  subject.slow = cached != nullptr ? cached->inner : tier;
  if (!arguments.fast.empty()) {
    subject.fast = find_tier(subject.options, arguments.fast);
  } else if (cached != nullptr) {
    subject.fast = cached->in;
  } else {
    throw Error(ExitCode::config,
                fmt::format("advise: tier '{0}' is of type {1}, which has no place for copies: "
                            "name one under storage: by --fast TIER, or use "
                            "storage.{0}={{type: cached, inner: {{...}}, in: {{...}}}}",
                            subject.tier, tier.type()));
  }
  subject.cached = cached != nullptr && arguments.fast.empty();
  if (cached != nullptr && cached->rule.plan) subject.staged_by = cached->rule.plan->value;
  return subject;
}

// The data set over the slow tier alone, because staging must not have a part in what is asked.
std::unique_ptr<ExperimentData> open_data(const Subject& subject) {
  ExperimentOptions options = subject.options;
  options.storage.at(subject.tier) = subject.slow;
  return std::make_unique<ExperimentData>(options, print_note);
}

int64_t steps_per_epoch(const Subject& subject, const Dataset& dataset) {
  return Sampler(loader_options(subject.options.loader), Shard{}, dataset, Split::train,
                 subject.options.run.seed)
      .batches();
}

// The time of the run, and what the model says it should be. Nothing if a rule other than a plan
// staged.
void look_back(const Subject& subject, const StagingCosts& costs, double steps, Advice& advice) {
  if (!subject.run) return;
  const bool staged = subject.options.storage.at(subject.tier).info().keeps_copies;
  if (staged && subject.staged_by.empty()) return;
  const double done = number_at(subject.run->summary, "step_duration_s.count").value_or(0);
  if (done <= 0) return;
  Chosen chosen;
  if (staged) {
    std::unordered_map<std::string, size_t> places;
    for (size_t i = 0; i < advice.uses.size(); ++i) places[advice.uses[i].key] = i;
    for (const ObjectInfo& object : read_plan(subject.staged_by).objects) {
      if (const auto at = places.find(object.key); at != places.end()) chosen.push_back(at->second);
    }
  }
  advice.run_was_s = number_at(subject.run->summary, "wall_s").value_or(0);
  advice.run_modelled_s = predict(costs, chosen).seconds * done / steps;
}

// If there is an I/O profile, replaces what the configuration says by what the profile saw. Returns
// in words which of the two was used. steps: the steps of the whole run.
std::string use_profile(const Subject& subject, const AdviseArguments& arguments,
                        const FileTree* files, double steps, int64_t per_epoch, Advice& advice) {
  constexpr const char* kConfigured = "by the configuration";
  if (arguments.profile == "none") return kConfigured;
  const bool wanted = !arguments.profile.empty();
  const std::string where = wanted        ? arguments.profile
                            : subject.run ? subject.run->directory
                                          : std::string();
  if (where.empty() || (!wanted && profile_logs(where).empty())) return kConfigured;
  try {
    if (files == nullptr) {
      throw Error(ExitCode::config, fmt::format("advise: tier '{}' has no files, and so no I/O "
                                                "profile can say what is read of its objects",
                                                subject.tier));
    }
    const SeenProfile seen =
        seen_profile(where, {subject.tier, files->root(), advice.pace.readers,
                             std::min(per_epoch, static_cast<int64_t>(std::ceil(steps)))});
    use_seen(seen.reads, seen.steps > 0 ? steps / seen.steps : 1, advice.uses);
    const std::string log = plural(seen.logs, "log") + " of the I/O profiler";
    return seen.steps > 0 ? fmt::format("seen by {} in {}, in {:.4g} steps of {:.4g}", log, where,
                                        seen.steps, steps)
                          : fmt::format("seen by {}, which counts as a whole run", where);
  } catch (const Error& error) {
    if (wanted) throw;
    return fmt::format("{}, for: {}", kConfigured, error.what());
  }
}

Advice advise_on(const Subject& subject, const AdviseArguments& arguments) {
  const std::unique_ptr<ExperimentData> data = open_data(subject);
  const int64_t per_epoch = steps_per_epoch(subject, data->dataset());
  Advice advice;
  advice.tier = subject.tier;
  advice.epochs = passes_of(subject.options, per_epoch).epochs;
  const double steps = advice.epochs * static_cast<double>(per_epoch);
  advice.pace = subject.run ? pace_of(subject.options, subject.run->summary, steps,
                                      std::ssize(directories_of_ranks(subject.run->directory)))
                            : pace_of(subject.options, nlohmann::json(), steps, 1);
  advice.uses =
      configured_uses(subject.options, data->dataset(), data->tiers().at(subject.tier).list(""),
                      subject.slow.info().read_piece, advice.pace.readers);
  advice.reads_source = use_profile(subject, arguments, data->files(), steps, per_epoch, advice);
  const TierCostModel slow = cost_model(subject.slow, "the slow tier of '" + subject.tier + "'",
                                        arguments.slow_fit, "--slow-fit");
  const TierCostModel fast = cost_model(subject.fast, "the fast tier of '" + subject.tier + "'",
                                        arguments.fast_fit, "--fast-fit");
  advice.slow_source = slow.source;
  advice.fast_source = fast.source;
  const StagingCosts costs(advice.uses, slow, fast, advice.pace);
  const auto way = [&](const std::string& name, Chosen chosen) {
    const PredictedTime run = predict(costs, chosen);
    advice.ways.push_back({name, std::move(chosen), run});
  };
  way("nothing", {});
  if (arguments.max_file) {
    way("below " + Scalar<ByteSize>::format(*arguments.max_file),
        choose_below(advice.uses, arguments.max_file->bytes, UINT64_MAX));
    for (const size_t i : advice.ways.back().chosen) advice.capacity += advice.uses[i].bytes;
  } else {
    advice.capacity = arguments.capacity->bytes;
    way("smallest first", choose_below(advice.uses, UINT64_MAX, advice.capacity));
  }
  way("most saved", choose_most_saved(advice.uses, costs, advice.capacity));
  way("everything", choose_below(advice.uses, UINT64_MAX, UINT64_MAX));
  advice.planned = arguments.max_file ? 1 : 2;
  look_back(subject, costs, steps, advice);
  return advice;
}

// Overrides with which a training stages by the plan while it reads.
std::vector<std::string> overrides_of(const Subject& subject, const std::string& plan,
                                      uint64_t bytes) {
  const std::string at = "storage." + subject.tier;
  if (subject.cached) {
    return {at + ".below=~", at + ".order=plan", at + ".plan=" + to_text(plan), at + ".fill=both",
            fmt::format("{}.limit={}", at, bytes)};
  }
  const nlohmann::json tier = {{"type", "cached"},
                               {"inner", to_json(subject.slow.dump())},
                               {"in", to_json(subject.fast.dump())},
                               {"order", "plan"},
                               {"plan", to_text(plan)},
                               {"fill", "both"},
                               {"limit", bytes}};
  return {at + "=" + json_text(tier)};
}

std::string command_of(const std::vector<std::string>& overrides) {
  std::string text;
  for (const std::string& word : overrides) text += " '" + word + "'";
  return text;
}

// The directory of a training with these overrides.
std::string train_by(const AdviseArguments& arguments, const Subject& subject,
                     const std::vector<std::string>& overrides) {
  std::vector<std::string> words{"train", "--json",
                                 subject.run ? subject.run->path("config.yaml") : arguments.config};
  words.insert(words.end(), arguments.overrides.begin(), arguments.overrides.end());
  words.insert(words.end(), overrides.begin(), overrides.end());
  const StopSignal stop;
  const std::string log = arguments.output + ".log";
  print_note("advise: trains, and stages meanwhile; its log: " + log);
  const ChildResult child = run_child(words, log, [&] { return stop.requested(); });
  if (child.exit_code == 0) return parse_json(child.output).at("run_directory");
  throw Error(
      stop.requested() ? stop.exit_code() : static_cast<ExitCode>(child.exit_code),
      fmt::format("advise: the training ended with exit code {}: see {}", child.exit_code, log));
}

AchievedRun look_at(const RunFiles& run, const std::string& plan, const Subject& subject) {
  return achieved_run(plan, run, steps_per_epoch(subject, open_data(subject)->dataset()));
}

}  // namespace

ExitCode advise(const AdviseArguments& arguments) {
  if (arguments.automatic && is_written_through(arguments.output)) {
    throw Error(ExitCode::config,
                fmt::format("--auto: the training reads the plan, and '{}' keeps none: name a "
                            "file by --output",
                            arguments.output));
  }
  const Subject subject = subject_of(arguments);
  nlohmann::json json;
  std::string text;
  const auto add_achieved = [&](const RunFiles& run, const std::string& plan) {
    const AchievedRun achieved = look_at(run, plan, subject);
    json["achieved"] = achieved_json(achieved);
    text += achieved_text(achieved);
  };
  const bool looks_back = subject.run && !subject.staged_by.empty();
  if (looks_back) add_achieved(*subject.run, subject.staged_by);
  if (arguments.capacity || arguments.max_file) {
    const Advice advice = advise_on(subject, arguments);
    const StagingPlan plan = advice.plan();
    const std::string file = plan_json(plan, plan_facts(advice));
    atomic_write_file(arguments.output,
                      {reinterpret_cast<const uint8_t*>(file.data()), file.size()});
    json.update(advice_json(advice));
    json["plan"] = arguments.output;
    const std::vector<std::string> overrides =
        overrides_of(subject, arguments.output, std::max<uint64_t>(plan.bytes, 1));
    json["overrides"] = overrides;
    text += fmt::format(
        "{}  plan: {}, {} objects, {} bytes; to stage by it, before the run or while it reads:\n"
        "    stoker dataset stage CONFIG{}\n    stoker train CONFIG{}\n",
        advice_text(advice), arguments.output, plan.objects.size(), plan.bytes,
        command_of(overrides), command_of(overrides));
    if (arguments.automatic) {
      add_achieved(read_run(train_by(arguments, subject, overrides)), arguments.output);
    }
  } else if (!looks_back) {
    throw Error(ExitCode::config,
                "advise: say how much may be staged: --capacity 10GiB, or --max-file 2MiB");
  }
  return print_result(arguments.json, json, text, -1, arguments.output);
}

}  // namespace stoker
