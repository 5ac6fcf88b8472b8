#include "app/tools/report/timeline.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "io/core/error.h"
#include "io/core/text/json.h"

namespace stoker {
namespace {

constexpr double kLatestUs = 1e18;  // fits into 63 bits

}  // namespace

Timeline read_timeline(std::string_view text, const std::string& path) {
  const auto refuse = [&path](const std::string& why) -> Error {
    return {ExitCode::data,
            fmt::format("{}: no Chrome trace of operations ({}): name a profile-STEP.json of "
                        "metrics.profile, or a TF Timeline",
                        path, why)};
  };
  nlohmann::json trace;
  try {
    trace = parse_json(text, kOwnFiles);
  } catch (const Error& error) {
    throw refuse(error.what());
  }
  const double base_us = 1e-3 * number_at(trace, "baseTimeNanoseconds").value_or(0);
  TimeSpans kernels, operators;
  for (const nlohmann::json& event : member_at(trace, "traceEvents")) {
    const auto ts = number_at(event, "ts"), dur = number_at(event, "dur");
    if (!ts || !dur || member_at(event, "ph") != "X") continue;
    if (!(std::abs(base_us + *ts) < kLatestUs && *dur >= 0 && *dur < kLatestUs)) continue;
    const TimeSpan span{std::llround(base_us + *ts), std::llround(base_us + *ts + *dur)};
    const nlohmann::json& category = member_at(event, "cat");
    if (category == "kernel") kernels.push_back(span);
    if (category == "cpu_op" || category == "Op") operators.push_back(span);
  }
  Timeline timeline{path, kernels.empty() ? "operators" : "kernels", {}, {}};
  timeline.operations = unite(std::move(kernels.empty() ? operators : kernels));
  if (timeline.operations.empty()) throw refuse("none in it");
  timeline.window = {timeline.operations.front().begin, timeline.operations.back().end};
  return timeline;
}

nlohmann::json joined_figures(const TimeLog& log, const Timeline& timeline) {
  const auto length = [](const TimeSpans& united) {
    return 1e-6 * static_cast<double>(total(united));
  };
  const TimeSpans window{timeline.window};
  const TimeSpans reads = intersect(reads_of(log), window);
  const TimeSpans alone = subtract(reads, timeline.operations);
  return {{"path", timeline.path},
          {"what", timeline.what},
          {"window_s", length(window)},
          {"operations_s", length(timeline.operations)},
          {"read_s", length(reads)},
          {"hidden_s", length(intersect(reads, timeline.operations))},
          {"exposed_s", length(alone)},
          {"idle_s", length(subtract(subtract(window, timeline.operations), alone))}};
}

}  // namespace stoker
