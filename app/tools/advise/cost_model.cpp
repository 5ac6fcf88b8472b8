#include "app/tools/advise/cost_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/tools/report/run_files.h"
#include "io/core/error.h"
#include "io/core/system/file.h"
#include "io/storage/emulated/emulated.h"

namespace stoker {
namespace {

// How well an emulated tier keeps its figures (docs/notes/emulated-tier.md).
constexpr double kEmulation = 0.03;
constexpr double kMemoryBytesPerS = 1e12;

double costs_s(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

// The residual of a fit's read points: twice the root of the mean square of log(predicted /
// measured).
double residual(const nlohmann::json& points) {
  double sum = 0;
  int64_t count = 0;
  for (const nlohmann::json& point : points) {
    if (point.at("op") != "read") continue;
    const double ratio =
        std::log(point.at("predicted_iops").get<double>() / point.at("iops").get<double>());
    if (!std::isfinite(ratio)) throw Error(ExitCode::data, "a point has no rate");
    sum += ratio * ratio;
    ++count;
  }
  if (count == 0) throw Error(ExitCode::data, "has no points of reads");
  return std::expm1(2 * std::sqrt(sum / static_cast<double>(count)));
}

TierCostModel fitted(const std::string& path) {
  const std::optional<std::string> text = read_if_there(path, SIZE_MAX, Readable::streams);
  if (!text) {
    throw Error(ExitCode::environment,
                path +
                    ": there is no such file: `stoker bench storage CONFIG TIER --fit --json` "
                    "prints what belongs in it");
  }
  try {
    const nlohmann::json json = parse_run_json(*text, path);
    const auto tier = parse_component<Storage>(parse_yaml(json.at("yaml"), path));
    const auto* options = tier.options<EmulatedOptions>();
    if (options == nullptr) throw Error(ExitCode::data, "its yaml is no emulated tier");
    TierCostModel model{"fitted: " + path, options->figures.costs(), {}, 0};
    // Objects that were opened for each read have their latency in it.
    if (json.at("through") == "files") model.open = model.costs.metadata_latency;
    model.error = residual(json.at("points"));
    return model;
  } catch (const nlohmann::json::exception& error) {
    throw Error(ExitCode::data,
                path + ": is not what `stoker bench storage --fit --json` prints: " + error.what());
  } catch (const Error& error) {
    throw Error(ExitCode::data,
                path + ": is not what `stoker bench storage --fit --json` prints: " + error.what());
  }
}

}  // namespace

TierLoad& TierLoad::operator+=(const TierLoad& more) {
  alone_s += more.alone_s;
  slots_s += more.slots_s;
  pipe_s += more.pipe_s;
  return *this;
}

TierLoad TierLoad::operator*(double factor) const {
  return {alone_s * factor, slots_s * factor, pipe_s * factor};
}

TierLoad load_of(const ObjectUse& use, const TierCostModel& model) {
  const TierCosts& costs = model.costs;
  const double seeks_s = use.seeks * costs_s(costs.seek);
  const double latency_s =
      use.requests * costs_s(costs.read_latency) + seeks_s + use.opens * costs_s(model.open);
  const double bytes_s = use.bytes_read / costs.read_bytes_per_s;
  const double stream_s =
      costs.stream_bytes_per_s > 0 ? use.bytes_read / costs.stream_bytes_per_s : 0;
  return {latency_s + std::max(bytes_s, stream_s), latency_s / costs.queue_depth,
          seeks_s / costs.queue_depth + bytes_s};
}

TierCostModel cost_model(const Component<Storage>& tier, const std::string& name,
                         const std::string& fit, const std::string& option) {
  if (!fit.empty()) return fitted(fit);
  if (const auto* emulated = tier.options<EmulatedOptions>()) {
    return {"emulated", emulated->costs(), {}, kEmulation};
  }
  if (tier.info().in_memory) {
    TierCosts free;
    free.read_bytes_per_s = free.write_bytes_per_s = kMemoryBytesPerS;
    return {"memory, taken for free", free, {}, 0};
  }
  throw Error(
      ExitCode::config,
      fmt::format("advise: what reads of {} (type {}) cost is not known; measure it: stoker "
                  "bench storage CONFIG TIER --fit --json > FILE, then {} FILE",
                  name, tier.type(), option));
}

}  // namespace stoker
