#include "app/tools/tune/answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "app/base/result_table.h"
#include "app/tools/simulate/steady.h"

namespace stoker {
namespace {

constexpr double kGetsAll = 0.97;

std::string rate_text(const Interval& rate) {
  return fmt::format("{:.1f} images/s (95 % interval {:.1f} to {:.1f})", rate.value, rate.low,
                     rate.high);
}

nlohmann::json rate_json(const Interval& rate) {
  return {{"value", rate.value}, {"low", rate.low}, {"high", rate.high}};
}

// The settings as the sections of a configuration.
std::string yaml_of(const std::vector<std::string>& overrides) {
  Node tree = Node::map();
  for (const std::string& word : overrides) apply_override(tree, word);
  return to_yaml(tree) + "\n";
}

// What the calibrating run said of each stage.
std::vector<std::string> stages_of(const TuneMachine& machine) {
  if (!machine.inputs) return {};
  const SimulatedWorkload& workload = machine.inputs->options.workload;
  const SimulatedCosts& costs = workload.costs;
  std::vector<std::string> stages;
  const auto batch = static_cast<double>(workload.loader.info().batch_size);
  const double step_ms = costs.step_ms + costs.image_ms * batch;
  if (step_ms > 0) {
    stages.push_back(fmt::format("the device takes {:.1f} images/s", 1e3 * batch / step_ms));
  }
  stages.push_back(fmt::format("a worker decodes a sample in {:.3g} ms", costs.decode_ms));
  const std::string tier = workload.data.tier ? " beside the emulated tier's own time" : "";
  stages.push_back(fmt::format("and reads it in {:.3g} ms{}", costs.read_ms, tier));
  if (costs.copy_ms > 0) {
    stages.push_back(fmt::format("a batch is copied in {:.3g} ms", costs.copy_ms));
  }
  return stages;
}

ResultTable table_of(const TuneAnswer& answer) {
  ResultTable table({{"data", "data"},
                     {"loader", "loader"},
                     {"workers", "workers"},
                     {"prefetch_batches", "ahead"},
                     {"predicted", "predicted", 1},
                     {"images_per_s", "images/s", 1},
                     {"low", "low", 1},
                     {"high", "high", 1},
                     {"memory_mb", "MB", 0},
                     {"failed", ""}});
  for (const TuneTrial& trial : answer.found.trials) {
    const TuneCandidate& each = answer.candidates[trial.candidate];
    const auto known = [](double value) { return value > 0 ? std::optional(value) : std::nullopt; };
    const ResultTable::Cell failed =
        trial.failed.empty() ? ResultTable::Cell() : ResultTable::Cell(trial.failed);
    table.add({answer.ways[each.way].name, each.loader, each.workers, each.prefetch,
               known(each.predicted), known(trial.rate.value), known(trial.rate.low),
               known(trial.rate.high), 1e-6 * static_cast<double>(each.memory), failed});
  }
  return table;
}

// The gain over the experiment as it was; absent where that could not be measured.
std::optional<Interval> gain_of(const TuneAnswer& answer) {
  if (answer.first().rate.value <= 0) return std::nullopt;
  return difference(answer.first().measured.pieces, answer.chosen().measured.pieces,
                    Differing::ratio);
}

std::string results_text(const TuneAnswer& answer) {
  const std::string& changes = answer.ways[answer.settings().way].changes;
  return changes.empty() ? "results stay the same" : "results change: " + changes;
}

}  // namespace

std::vector<std::string> TuneAnswer::overrides() const {
  if (chosen().candidate == first().candidate) return {};
  std::vector<std::string> words = ways[settings().way].overrides;
  for (std::string& word : loader_overrides(settings())) words.push_back(std::move(word));
  return words;
}

TuneBinding binding_of(const TuneTrial& trial, const TuneCandidate& candidate,
                       const std::optional<SimulationInputs>& inputs) {
  const double limit = trial.measured.limit;
  if (limit > 0 && trial.rate.value >= kGetsAll * limit) {
    return {"device", fmt::format("it takes {:.1f} images/s, and gets them", limit)};
  }
  if (!inputs) return {"unknown", "the simulator has no model of this loader or data set"};
  SimulationInputs own = *inputs;
  std::vector<std::string> options;
  for (const std::string& word : loader_overrides(candidate)) {
    options.push_back(word.substr(std::string("loader.").size()));
  }
  try {
    own = with_loader(std::move(own), options);
    const StageGain gain = binding_stage(own);
    if (gain.stage != "device") {
      return {gain.stage, fmt::format("without what it costs the simulator expects {:.1f} images/s",
                                      gain.images_per_s)};
    }
  } catch (const Error&) {  // a loader that it has no model of
  }
  const SimulatedCosts& costs = inputs->options.workload.costs;
  const bool reads = inputs->options.workload.data.tier || costs.read_ms > costs.decode_ms;
  return {reads ? "storage" : "decoding", "it is most of what a sample takes a worker"};
}

nlohmann::json tune_json(const TuneArguments& arguments, const TuneAnswer& answer) {
  const TuneWay& way = answer.ways[answer.settings().way];
  nlohmann::json json = {{"name", "tune"},
                         {"config", arguments.config},
                         {"least_memory", arguments.least_memory},
                         {"overrides", answer.overrides()},
                         {"data", way.name},
                         {"changes", way.changes},
                         {"images_per_s", rate_json(answer.chosen().rate)},
                         {"memory_bytes", answer.settings().memory},
                         {"binds", answer.binding.stage},
                         {"why", answer.binding.why},
                         {"stages", stages_of(answer.machine)},
                         {"tried", table_of(answer).json()},
                         {"predicted", answer.candidates.size()},
                         {"runs", answer.runs},
                         {"seconds", answer.spent_s},
                         {"advice", answer.advice}};
  if (answer.first().rate.value > 0) json["as_configured"] = rate_json(answer.first().rate);
  if (const auto gain = gain_of(answer)) json["gain"] = rate_json(*gain);
  if (answer.chosen().measured.limit > 0)
    json["device_images_per_s"] = answer.chosen().measured.limit;
  return json;
}

std::string tune_text(const TuneArguments& arguments, const TuneAnswer& answer) {
  std::string text = arguments.config + ": " + rate_text(answer.chosen().rate);
  const std::vector<std::string> words = answer.overrides();
  if (words.empty()) {
    text += ", as configured: nothing that was tried is better\n";
  } else {
    if (const auto gain = gain_of(answer)) {
      text += fmt::format("; as configured {:.1f} images/s: {:+.1f} % ({:+.1f} to {:+.1f} %)",
                          answer.first().rate.value, 100 * gain->value, 100 * gain->low,
                          100 * gain->high);
    }
    text += "\n\n" + yaml_of(words) + "\n" + results_text(answer) + "\n";
  }
  text += fmt::format("what binds: {}; {}\n", answer.binding.stage, answer.binding.why);
  if (const auto stages = stages_of(answer.machine); !stages.empty()) {
    text += fmt::format("by itself {}\n", fmt::join(stages, "; "));
  }
  text += "\n" + table_of(answer).text();
  for (const std::string& line : answer.advice) text += "not tried: " + line + "\n";
  return text + fmt::format("{} settings predicted, {} short runs, {:.1f} s\n",
                            answer.candidates.size(), answer.runs, answer.spent_s);
}

}  // namespace stoker
