#include "app/tools/tune/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "app/experiment/experiment_options.h"
#include "app/process/stop_signal.h"
#include "app/tools/report/run_files.h"
#include "app/tools/simulate/measured.h"
#include "app/tools/tune/answer.h"
#include "app/tools/tune/runs.h"
#include "io/core/error.h"
#include "io/core/system/file.h"
#include "io/core/system/usable_cores.h"
#include "io/core/text/json.h"
#include "io/core/text/text.h"
#include "io/experiment/data_options.h"
#include "io/metrics/machine/system_stats.h"

namespace stoker {
namespace {

// A part of the budget for the run that says what the stages cost, for each short run, and for the
// most that filling a cache may take.
constexpr double kCalibrating = 0.06, kShort = 1.0 / 30, kFilling = 0.15;
// Steps that a short run should have beside those that queues hold.
constexpr double kSteps = 8;
constexpr int64_t kSimulatedSamples = 20'000;
// A device that takes steps in advance takes so many.
constexpr int64_t kQueueDepth = 2;

class Tuning {
 public:
  Tuning(const TuneArguments& arguments, const StopSignal& stop)
      : arguments_(arguments),
        experiment_(read_experiment(arguments.config, arguments.overrides)),
        data_(look_at_data(experiment_)),
        runs_(arguments.config, arguments.overrides, arguments.seconds, stop) {}

  TuneAnswer answer() {
    TuneAnswer answer;
    TuneMachine& machine = answer.machine;
    machine.cores = usable_cores();
    machine.memory = read_system_stats({}).memory.available.value_or(uint64_t{4} << 30) / 2;
    answer.ways = ways_of(experiment_, data_,
                          {load_experiment(arguments_.config, arguments_.overrides),
                           arguments_.alternatives, arguments_.same_results, machine.memory},
                          answer.advice);
    calibrate(answer.ways.front(), machine);
    for (size_t number = 0; number < answer.ways.size(); ++number) add_way(number, answer);
    answer.found = search(answer);
    const TuneCandidate& settings = answer.settings();
    answer.binding = binding_of(answer.chosen(), settings, inputs_[settings.way]);
    advise_formats(answer);
    answer.runs = runs_.count();
    answer.spent_s = runs_.spent_s();
    return answer;
  }

 private:
  // A run by a loader that lets every stage be seen. Its inputs; nothing where the engine has no
  // model of them.
  std::optional<SimulationInputs> measured(const TuneWay& way, ShortRun& run) {
    std::vector<std::string> overrides = way.overrides;
    // With more threads than cores each waits for the others, and one alone could not be predicted.
    if (may_be_another(experiment_.loader)) {
      overrides.emplace_back("loader.type=prefetched");
      overrides.emplace_back("loader.workers=auto");
    }
    double length = std::clamp(kCalibrating * arguments_.seconds, 0.5, 5.0);
    for (int attempt = 0; attempt < 3; ++attempt, length *= 3) {
      run = runs_.run(overrides, length);
      if (number_at(run.summary, "step_duration_s.count").value_or(0) >= 3) break;
    }
    if (run.directory.empty()) {
      throw Error(ExitCode::environment,
                  fmt::format("tune: the training did not begin within {:.1f} s: give it more time "
                              "(--seconds)",
                              run.took_s));
    }
    try {
      MeasuredInputs found = measured_inputs(run.directory);
      SimulationInputs inputs = read_simulation(std::move(found.tree));
      inputs.sample_bytes = std::move(found.sample_bytes);
      return thinned(std::move(inputs), kSimulatedSamples);
    } catch (const Error& error) {
      print_note(std::string("tune: without predictions: ") + error.what());
      return std::nullopt;
    }
  }

  void calibrate(const TuneWay& way, TuneMachine& machine) {
    print_note("tune: measuring the stages");
    ShortRun run;
    machine.inputs = measured(way, run);
    const nlohmann::json environment = read_json(run.directory + "/environment.json");
    const nlohmann::json& timing = member_at(environment, "device.timing_method");
    machine.copies = timing.is_string() && timing != "host";
    const DecoderInfo decoder = experiment_.decoder.info();
    machine.may_stay = !decoder.augments && !decoder.frames && experiment_.training.epochs > 1 &&
                       !experiment_.dataset.info().keeps_samples;
    if (timing == "events") runs_.report_every(10);
    loaded_ = whole_rate(run.summary);
  }

  // The candidates of a way, where it can be measured in this time.
  void add_way(size_t number, TuneAnswer& answer) {
    const TuneWay& way = answer.ways[number];
    std::optional<SimulationInputs> inputs = inputs_of(way, answer.machine);
    const bool other_data = number > 0 && way.from_epoch == 0;
    if (other_data) {
      if (!runs_.time_for(0.2 * arguments_.seconds)) {
        answer.advice.push_back(way.name + ": there was no time");
        inputs_.emplace_back();
        return;
      }
      try {
        ShortRun run;
        inputs = measured(way, run);
      } catch (const Error& error) {
        answer.advice.push_back(way.name + ": " + error.what());
        inputs_.emplace_back();
        return;
      }
    }
    inputs_.push_back(inputs);
    double least_s = 1e9;
    for (TuneCandidate& each :
         candidates_of(experiment_.loader, way, number, inputs, answer.machine, data_)) {
      const double filling_s = way.from_epoch > 0 || each.stays ? filling(each, answer) : 0;
      least_s = std::min(least_s, filling_s);
      each.measurable = filling_s <= kFilling * arguments_.seconds;
      answer.candidates.push_back(std::move(each));
    }
    if (way.from_epoch > 0 && least_s > kFilling * arguments_.seconds) {
      answer.advice.push_back(fmt::format(
          "{}: the first epoch, which fills it, takes {:.0f} s or more, and that is more than "
          "{:.0f} % of --seconds",
          way.name, least_s, 100 * kFilling));
    }
  }

  // Seconds of the first epoch, in which a cache is filled: those of the same loader without one.
  double filling(const TuneCandidate& each, const TuneAnswer& answer) const {
    TuneCandidate plain = each;
    plain.way = 0;
    const auto found = std::ranges::find_if(
        answer.candidates, [&](const TuneCandidate& other) { return other.same(plain); });
    const bool known = found != answer.candidates.end() && !each.stays && found->predicted > 0;
    const double rate = known ? found->predicted : loaded_;
    return rate > 0 ? static_cast<double>(data_.samples) / rate : 1e9;
  }

  TuneFound search(TuneAnswer& answer) {
    TuneSearchOptions options;
    const TuneCandidate own = configured_candidate(experiment_.loader);
    const auto first = std::ranges::find_if(
        answer.candidates, [&](const TuneCandidate& each) { return each.same(own); });
    options.first = static_cast<size_t>(first - answer.candidates.begin());
    options.least_memory = arguments_.least_memory;
    options.seconds = std::clamp(kShort * arguments_.seconds, 0.3, 5.0);
    return search_settings(answer.candidates, options,
                           [&](const TuneCandidate& candidate, double seconds) {
                             return measure(answer, candidate, seconds);
                           });
  }

  std::optional<TuneMeasured> measure(const TuneAnswer& answer, const TuneCandidate& candidate,
                                      double seconds) {
    const TuneWay& way = answer.ways[candidate.way];
    std::vector<std::string> loader;
    std::vector<std::string> overrides = way.overrides;
    for (const std::string& word : loader_overrides(candidate)) {
      overrides.push_back(word);
      loader.push_back(word.substr(std::string("loader.").size()));
    }
    const LoaderInfo info = changed(experiment_.loader, loader).info();
    SteadyFrom from;
    from.queued = info.host_batches_ahead + info.device_batches_ahead + kQueueDepth + 1;
    from.epoch = candidate.stays ? 1 : way.from_epoch;
    const double step_s =
        candidate.predicted > 0 ? static_cast<double>(info.batch_size) / candidate.predicted : 0;
    double length = std::clamp(kSteps * step_s, seconds, std::max(2.0, 3 * seconds));
    if (from.epoch > 0) length += 1.2 * filling(candidate, answer) + 0.2;
    // Two are needed for an answer, however slow the machine is.
    if (measured_++ >= 2 && !runs_.time_for(length)) return std::nullopt;
    const ShortRun run = runs_.run(overrides, length);
    TuneMeasured found{steady_pieces(run.directory, run.summary, from), device_limit(run.summary)};
    print_note(fmt::format(
        "tune: {:5.1f} s  {}  {}  {} ahead  {}", runs_.spent_s(), candidate.loader,
        plural(candidate.workers, "worker"), candidate.prefetch,
        found.pieces.empty() ? "too short" : fmt::format("{:.1f} images/s", level(found.pieces))));
    return found;
  }

  // What takes longer than a search: somebody has to want it.
  void advise_formats(TuneAnswer& answer) const {
    const DatasetInfo info = experiment_.dataset.info();
    const bool files = !info.tier.empty() && !info.keeps_samples && !data_.shared_files;
    if (answer.binding.stage != "storage" || !files || data_.samples == 0) return;
    answer.advice.push_back(fmt::format(
        "files of {:.0f} KB each: `stoker dataset convert` writes them into few large ones (--to "
        "tfrecord, webdataset, ...), which `stoker tune --or \"dataset.type=...\"` then tries",
        1e-3 * static_cast<double>(data_.bytes) / static_cast<double>(data_.samples)));
  }

  const TuneArguments& arguments_;
  const ExperimentOptions experiment_;
  const TuneData data_;
  TuneRuns runs_;
  double loaded_ = 0;                                    // images/s of the run that calibrated
  int64_t measured_ = 0;                                 // runs of candidates that were asked for
  std::vector<std::optional<SimulationInputs>> inputs_;  // of each way
};

void write_experiment(const TuneArguments& arguments, const TuneAnswer& answer) {
  std::vector<std::string> words = arguments.overrides;
  for (std::string& word : answer.overrides()) words.push_back(std::move(word));
  const std::string head = fmt::format("# {} as `stoker tune` chose it: {:.1f} images/s here\n",
                                       arguments.config, answer.chosen().rate.value);
  const std::string text = head + resolved_yaml(read_experiment(arguments.config, words));
  atomic_write_file(arguments.write, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

}  // namespace

ExitCode tune(const TuneArguments& arguments) {
  const StopSignal stop;
  const TuneAnswer answer = Tuning(arguments, stop).answer();
  if (!arguments.write.empty()) write_experiment(arguments, answer);
  return print_result(arguments.json, tune_json(arguments, answer), tune_text(arguments, answer),
                      -1, arguments.write);
}

}  // namespace stoker
