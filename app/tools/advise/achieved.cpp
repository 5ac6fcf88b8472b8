#include "app/tools/advise/achieved.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "io/core/error.h"
#include "io/core/text/json.h"
#include "io/metrics/spread.h"

namespace stoker {
namespace {

// A step, and when it had ended.
using StepTime = std::pair<double, double>;

std::vector<StepTime> step_times(const Table& steps, bool resumed) {
  const Table::Column& numbers = steps.column("steps");
  const Table::Column& walls = steps.column("wall_s");
  std::vector<StepTime> times;
  if (!resumed) times.emplace_back(0, 0);
  for (size_t i = 0; i < std::min(numbers.size(), walls.size()); ++i) {
    if (!numbers[i] || !walls[i]) continue;
    if (times.empty() || *numbers[i] > times.back().first) {
      times.emplace_back(*numbers[i], *walls[i]);
    }
  }
  return times;
}

// When a step had ended; nothing before the first and after the last that is known.
std::optional<double> time_at(const std::vector<StepTime>& times, int64_t step) {
  const auto wanted = static_cast<double>(step);
  const auto next = std::ranges::lower_bound(times, wanted, {}, &StepTime::first);
  if (next == times.end()) return std::nullopt;
  if (next->first == wanted) return next->second;
  if (next == times.begin()) return std::nullopt;
  const auto before = std::prev(next);
  const double share = (wanted - before->first) / (next->first - before->first);
  return before->second + share * (next->second - before->second);
}

}  // namespace

std::vector<double> epoch_seconds(const Table& steps, int64_t steps_per_epoch, bool resumed) {
  const std::vector<StepTime> times = step_times(steps, resumed);
  std::vector<double> result;
  if (times.empty()) return result;
  const auto last = static_cast<int64_t>(times.back().first);
  for (int64_t end = steps_per_epoch; end <= last; end += steps_per_epoch) {
    const std::optional<double> from = time_at(times, end - steps_per_epoch);
    const std::optional<double> to = time_at(times, end);
    if (from && to) result.push_back(*to - *from);
  }
  return result;
}

RunPace pace_of(const ExperimentOptions& options, const nlohmann::json& summary, double steps,
                int64_t ranks) {
  const LoaderInfo loader = options.loader.info();
  RunPace pace;
  pace.readers = ranks * std::max<int64_t>(1, loader.workers);
  pace.overlaps = loader.works_ahead();
  const double done = number_at(summary, "step_duration_s.count").value_or(0);
  if (done <= 0) return pace;
  const double scale = steps / done;
  for (const char* split : {"train", "test"}) {
    pace.decode_s +=
        scale * static_cast<double>(ranks) *
        number_at(summary, fmt::format("loaders.{}.stages.decode.duration_s.sum", split))
            .value_or(0);
  }
  const double waits = number_at(summary, "segments_s.data_wait").value_or(0) +
                       number_at(summary, "segments_s.eval").value_or(0);
  pace.rest_s = scale * std::max(0.0, number_at(summary, "wall_s").value_or(0) - waits);
  return pace;
}

double AchievedRun::settled_s() const {
  std::vector<double> settled = epochs_s;
  if (settled.size() > 1) settled.erase(settled.begin());
  return spread(settled).median;
}

double AchievedRun::error() const { return settled_s() / predicted_epoch_s - 1; }

AchievedRun achieved_run(const std::string& plan, const RunFiles& run, int64_t steps_per_epoch) {
  const nlohmann::json facts = read_json(plan);
  const bool resumed = number_at(run.summary, "total.processes").value_or(1) > 1;
  AchievedRun achieved{plan, epoch_seconds(run.steps, steps_per_epoch, resumed)};
  const auto predicted = [&](const char* name) {
    const double value = number_at(facts, fmt::format("predicted.{}", name)).value_or(0);
    if (value > 0) return value;
    throw Error(ExitCode::data, plan +
                                    ": holds no prediction of an epoch: `stoker advise` writes "
                                    "plans that do");
  };
  achieved.predicted_epoch_s = predicted("epoch_s");
  achieved.predicted_low_s = predicted("epoch_low_s");
  achieved.predicted_high_s = predicted("epoch_high_s");
  achieved.unstaged_epoch_s = predicted("unstaged_epoch_s");
  if (achieved.epochs_s.empty()) {
    throw Error(ExitCode::data, run.directory +
                                    ": no epoch of it is known from begin to end: it "
                                    "needs the sink csv, and an epoch that has ended");
  }
  return achieved;
}

std::string achieved_text(const AchievedRun& run) {
  std::string text = fmt::format(
      "by {}: an epoch was predicted to take {:.2f} s ({:.2f} to {:.2f}), unstaged {:.2f} s\n",
      run.plan, run.predicted_epoch_s, run.predicted_low_s, run.predicted_high_s,
      run.unstaged_epoch_s);
  text += fmt::format("  achieved: the first epoch took {:.2f} s", run.epochs_s.front());
  if (run.epochs_s.size() > 1) {
    text += fmt::format(", the {} behind it {:.2f} s (median)", run.epochs_s.size() - 1,
                        run.settled_s());
  }
  return text + fmt::format(": {:+.1f} % of what was predicted\n", 100 * run.error());
}

nlohmann::json achieved_json(const AchievedRun& run) {
  return {{"plan", run.plan},
          {"epochs_s", run.epochs_s},
          {"first_epoch_s", run.epochs_s.front()},
          {"settled_epoch_s", run.settled_s()},
          {"predicted_epoch_s", run.predicted_epoch_s},
          {"predicted_low_s", run.predicted_low_s},
          {"predicted_high_s", run.predicted_high_s},
          {"unstaged_epoch_s", run.unstaged_epoch_s},
          {"error", run.error()}};
}

}  // namespace stoker
