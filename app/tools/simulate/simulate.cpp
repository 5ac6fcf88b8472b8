#include "app/tools/simulate/simulate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "app/base/result_table.h"
#include "app/tools/simulate/measured.h"
#include "app/tools/simulate/simulation.h"
#include "io/core/error.h"

namespace stoker {
namespace {

using Column = ResultTable::Column;

// The largest memory of this process in bytes.
int64_t peak_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return int64_t{1024} * usage.ru_maxrss;
}

ResultTable table(const std::vector<std::pair<std::string, SimulationResult>>& results) {
  std::vector<Column> columns{{"what", "what", 0},
                              {"ranks", "ranks", 0},
                              {"steps", "steps", 0},
                              {"wall_s", "wall s", 3},
                              {"steps_per_s", "steps/s", 3},
                              {"images_per_s", "images/s", 1},
                              {"io_share", "waits for data %", 2, 100},
                              {"read_share", "threads that read", 2},
                              {"busy_cores", "busy cores", 2},
                              {"device/idle_share", "idle %", 2, 100}};
  for (size_t i = 0; i < kIdleCauses; ++i) {
    const std::string name = idle_cause_name(static_cast<IdleCause>(i));
    const bool some =
        std::ranges::any_of(results, [&](const auto& each) { return each.second.idle_s[i] > 0; });
    columns.push_back({"device/idle_s/" + name, some ? "idle for " + name + " s" : "", 3});
  }
  columns.push_back({"checkpoint_stall_s", "checkpoints s", 3});
  ResultTable rows(columns);
  for (const auto& [what, result] : results) {
    std::vector<ResultTable::Cell> row{what,
                                       result.ranks,
                                       result.steps,
                                       result.wall_s,
                                       result.steps_per_s(),
                                       result.images_per_s(),
                                       result.io_share(),
                                       result.read_share(),
                                       result.busy_cores(),
                                       result.idle_share()};
    for (const double idle : result.idle_s) row.emplace_back(idle);
    row.emplace_back(result.checkpoint_stall_s);
    rows.add(std::move(row));
  }
  return rows;
}

// What of a result is in no row of the table.
nlohmann::json details(const SimulationResult& result) {
  return {{"nodes", result.nodes},
          {"images", result.images},
          {"data_wait_s", result.data_wait_s},
          {"read_s", result.read_s},
          {"read_union_s", result.read_union_s},
          {"decode_s", result.decode_s},
          {"train_s", result.train_s()},
          {"core_s", result.core_s},
          {"busy_s", result.busy_s},
          {"exchange_s", result.exchange_s},
          {"read_bytes", result.read_bytes},
          {"cached_bytes", result.cached_bytes},
          {"epochs_s", result.epochs_s},
          {"checkpoints",
           {{"saved", result.saved},
            {"skipped", result.skipped},
            {"drained", result.drained},
            {"save_s", result.save_s},
            {"drain_s", result.drain_s},
            {"flush_s", result.flush_s}}},
          {"simulation",
           {{"events", result.events},
            {"seconds", result.simulated_in_s},
            {"rank_steps_per_s", result.rank_steps_per_s()},
            {"peak_memory_bytes", peak_memory()}}}};
}

ResultTable inputs_table(const SimulationInputs& inputs) {
  ResultTable rows({{"input", "input"}, {"value", "value"}, {"from", "from"}});
  for (const InputOrigin& origin : inputs.origins) {
    rows.add({origin.key, origin.value, origin.from});
  }
  return rows;
}

// Cores limit a prediction, or it says how many it takes for granted.
std::string cores_text(const SimulationInputs& inputs, const SimulationResult& result) {
  const std::optional<double>& cores = inputs.options.machine.cores;
  const std::string busy =
      fmt::format("  needs {:.1f} busy cores on each node", result.busy_cores());
  if (!cores) return busy + "; machine.cores does not say how many there are\n";
  if (result.busy_cores() < 0.97 * *cores) return fmt::format("{} of its {:g}\n", busy, *cores);
  SimulationInputs unlimited = inputs;
  unlimited.options.machine.cores.reset();
  const SimulationResult free = simulate_run(unlimited);
  return fmt::format(
      "  the {:g} cores of each node are busy all the time and limit this: for the {:.1f} images/s "
      "that there would be with more of them, it needs {:.1f} busy cores\n",
      *cores, free.images_per_s(), free.busy_cores());
}

std::string inputs_text(const SimulationInputs& inputs, bool all) {
  if (all) return "\n" + inputs_table(inputs).text(2);
  const auto given = std::ranges::count_if(
      inputs.origins, [](const InputOrigin& origin) { return origin.from != "default"; });
  return fmt::format("  by {} inputs that were measured or given, and {} defaults: --inputs\n",
                     given, std::ssize(inputs.origins) - given);
}

std::string epochs_text(const SimulationResult& result) {
  std::string text = "  epochs:";
  constexpr size_t kMost = 8;
  for (size_t i = 0; i < std::min(kMost, result.epochs_s.size()); ++i) {
    text += fmt::format(" {:.3f} s", result.epochs_s[i]);
  }
  if (result.epochs_s.size() > kMost) text += fmt::format(" ... ({})", result.epochs_s.size());
  return result.epochs_s.empty() ? "" : text + "\n";
}

std::string checkpoints_text(const SimulationResult& result) {
  if (result.saved + result.skipped == 0) return "";
  return fmt::format(
      "  checkpoints: {} saved in {:.3f} s each, {} skipped, {} drained in {:.3f} s each; after "
      "the "
      "loop {:.3f} s until all are\n",
      result.saved, result.save_s, result.skipped, result.drained, result.drain_s, result.flush_s);
}

}  // namespace

ExitCode simulate(const SimulateArguments& arguments) {
  MeasuredInputs measured;
  measured.tree = Node::map();
  if (!arguments.config.empty()) measured = measured_inputs(arguments.config);
  const Node tree = merge_inputs(measured.tree, arguments.machine, arguments.overrides);
  const bool described = !arguments.config.empty() || !arguments.machine.empty();
  if (!described && tree.find("workload") == nullptr) {
    throw Error(ExitCode::config,
                "nothing says which run to predict: give a measured one, --run DIRECTORY, or a "
                "file with a section workload:, --machine FILE");
  }
  SimulationInputs inputs = read_simulation(tree);
  if (std::ssize(measured.sample_bytes) == inputs.options.workload.data.samples) {
    inputs.sample_bytes = std::move(measured.sample_bytes);
  }
  std::vector<std::pair<std::string, SimulationResult>> results{{"baseline", simulate_run(inputs)}};
  if (!arguments.what_if.empty()) {
    for (const std::string& knobs : what_ifs(arguments.what_if)) {
      results.emplace_back(knobs, simulate_run(turned(inputs, knobs)));
    }
  }
  const ResultTable rows = table(results);
  nlohmann::json json{{"results", rows.json()},
                      {"inputs", inputs_table(inputs).json()},
                      {"conditions", {{"simulated", true}}}};
  for (size_t i = 0; i < results.size(); ++i) json["results"][i].update(details(results[i].second));
  const SimulationResult& first = results.front().second;
  std::string text =
      rows.text() + cores_text(inputs, first) + epochs_text(first) + checkpoints_text(first);
  text += "  SIMULATED, not measured\n";
  text += inputs_text(inputs, arguments.inputs);
  return print_result(arguments.json, json, text);
}

}  // namespace stoker
