#include "app/analysis/trace_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/analysis/intervals.h"
#include "app/analysis/json_fields.h"
#include "io/core/error.h"

namespace stoker {
namespace {

constexpr double kNanoseconds = 1e-9;

double seconds_in(const TimeSpans& spans) {
  return kNanoseconds * static_cast<double>(total(spans));
}

// Collects events, and says in the end what they come to.
class Reader {  // NOLINT(bugprone-exception-escape): nlohmann::json's move
 public:
  void add_line(std::string_view line) {
    line = line.substr(std::min(line.find_first_not_of(", []\r"), line.size()));
    if (line.empty()) return;
    const nlohmann::json event = nlohmann::json::parse(line, nullptr, false);
    if (event.is_discarded() || !event.is_object()) {
      ++figures_.bad_lines;
    } else if (event.value("ph", "") == "X") {
      add_event(event);
    } else if (event.value("name", "") == "trace_end") {
      end_ = event.at("args");
    }
  }

  TraceFigures figures() {
    judge();
    if (loop_) figures_.wall_s = seconds_in({*loop_});
    for (const auto& [name, ns] : segments_) {
      figures_.segments_s[name] = kNanoseconds * static_cast<double>(ns);
    }
    if (figures_.wall_s > 0) {
      figures_.io_share = figures_.segments_s["data_wait"] / figures_.wall_s;
    }
    add_device();
    for (auto& [name, spans] : tiers_) {
      figures_.tiers[name].reads.busy_s = seconds_in(unite(std::move(spans.reads)));
      figures_.tiers[name].writes.busy_s = seconds_in(unite(std::move(spans.writes)));
    }
    return figures_;
  }

 private:
  struct TierSpans {
    TimeSpans reads, writes;
  };

  void add_event(const nlohmann::json& event) {
    ++figures_.events;
    const auto begin = std::llround(1e3 * event.at("ts").get<double>());
    const TimeSpan span{begin, begin + std::llround(1e3 * event.at("dur").get<double>())};
    const auto category = event.at("cat").get<std::string>();
    const auto name = event.at("name").get<std::string>();
    uint64_t bytes = 0;
    if (event.contains("args")) bytes = event["args"].value("bytes", uint64_t{0});
    if (category == "trainer") {
      add_segment(name, span);
    } else if (category == "device" && name == "step") {
      steps_.push_back(span);
    } else if (category == "loader" && name == "read") {
      ++figures_.samples_read;
      figures_.bytes_read += bytes;
    } else if (category == "checkpoint" && name == "drain") {
      ++figures_.drains;
    } else if (category == "storage") {
      add_operation(name, span, bytes);
    }
  }

  void add_segment(const std::string& name, const TimeSpan& span) {
    segments_[name] += span.end - span.begin;
    if (!loop_) loop_ = span;
    loop_->begin = std::min(loop_->begin, span.begin);
    loop_->end = std::max(loop_->end, span.end);
  }

  // "TIER: read"
  void add_operation(const std::string& name, const TimeSpan& span, uint64_t bytes) {
    const size_t colon = name.rfind(": ");
    if (colon == std::string::npos) return;
    const std::string tier = name.substr(0, colon), operation = name.substr(colon + 2);
    if (operation != "read" && operation != "write") return;
    const bool is_read = operation == "read";
    TraceTransfers& transfers = is_read ? figures_.tiers[tier].reads : figures_.tiers[tier].writes;
    ++transfers.count;
    transfers.bytes += bytes;
    (is_read ? tiers_[tier].reads : tiers_[tier].writes).push_back(span);
  }

  // As IdleAttribution: from the loop's begin to the last step's end; no moment counts twice.
  void add_device() {
    figures_.steps = static_cast<int64_t>(steps_.size());
    const TimeSpans busy = unite(std::move(steps_));
    if (busy.empty() || !loop_) return;
    figures_.device_busy_s = seconds_in(intersect(busy, {{loop_->begin, busy.back().end}}));
    figures_.device_observed_s = seconds_in({{loop_->begin, busy.back().end}});
  }

  void judge() {
    if (end_.is_null()) {
      figures_.incomplete = "it was not closed: the process was killed, or still runs";
    } else if (!end_.value("whole_run", false)) {
      figures_.incomplete =
          "it is shorter than the run: metrics.sinks trace.first_step 0 and trace.steps above the "
          "run's";
    } else if (end_.value("dropped", 0) > 0) {
      figures_.incomplete = fmt::format("{} events were dropped", end_.value("dropped", 0));
    } else if (end_.value("over_max_bytes", 0) > 0) {
      figures_.incomplete =
          fmt::format("{} events were over max_bytes", end_.value("over_max_bytes", 0));
    }
    figures_.complete = figures_.incomplete.empty();
  }

  TraceFigures figures_;
  nlohmann::json end_;
  std::map<std::string, int64_t> segments_;
  std::optional<TimeSpan> loop_;
  TimeSpans steps_;
  std::map<std::string, TierSpans> tiers_;
};

void add_transfers(const std::string& name, const TraceTransfers& transfers,
                   std::map<std::string, double>& result) {
  if (transfers.count == 0) return;
  const auto bytes = static_cast<double>(transfers.bytes);
  result[name + "count"] = static_cast<double>(transfers.count);
  result[name + "bytes"] = bytes;
  result[name + "busy_s"] = transfers.busy_s;
  if (transfers.busy_s > 0) result[name + "busy_mb_per_s"] = 1e-6 * bytes / transfers.busy_s;
}

}  // namespace

TraceFigures read_trace_figures(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    throw Error(ExitCode::environment,
                path + " is missing: add {type: trace, steps: 1000000} to metrics.sinks");
  }
  Reader reader;
  try {
    for (std::string line; std::getline(file, line);) reader.add_line(line);
    return reader.figures();
  } catch (const nlohmann::json::exception& error) {
    throw Error(ExitCode::environment, path + ": is it a trace of stoker's? " + error.what());
  }
}

std::map<std::string, double> by_name(const TraceFigures& figures) {
  std::map<std::string, double> result{
      {"steps", figures.steps},
      {"wall_s", figures.wall_s},
      {"io_share", figures.io_share},
      {"device.observed_s", figures.device_observed_s},
      {"device.busy_s", figures.device_busy_s},
      {"loaders.samples_read", figures.samples_read},
      {"loaders.read_bytes", figures.bytes_read},
      {"checkpoints.drained", figures.drains},
  };
  if (figures.device_observed_s > 0) {
    result["device.idle_share"] = 1 - figures.device_busy_s / figures.device_observed_s;
  }
  for (const auto& [name, time] : figures.segments_s) result["segments_s." + name] = time;
  for (const auto& [name, tier] : figures.tiers) {
    add_transfers("tiers." + name + ".read.", tier.reads, result);
    add_transfers("tiers." + name + ".write.", tier.writes, result);
  }
  return result;
}

std::map<std::string, double> by_name(const nlohmann::json& summary) {
  std::map<std::string, double> result;
  const auto take = [&](const nlohmann::json& object, const std::string& name,
                        const std::string& as) {
    if (const auto value = number_if_there(object, name)) result[as] = *value;
  };
  take(summary, "wall_s", "wall_s");
  take(summary, "io_share", "io_share");
  take(summary, "steps", "steps");
  if (summary.contains("resumed")) result["steps"] -= summary["resumed"].value("step", 0.0);
  const auto object = [&](const char* name) -> const nlohmann::json& {
    return object_if_there(summary, name);
  };
  const nlohmann::json& device = object("device");
  for (const char* name : {"observed_s", "busy_s", "idle_share"}) {
    take(device, name, std::string("device.") + name);
  }
  for (const auto& [name, time] : object("segments_s").items()) {
    result["segments_s." + name] = time.get<double>();
  }
  for (const nlohmann::json& loader : object("loaders")) {
    result["loaders.samples_read"] +=
        loader.at("/stages/read/duration_s/count"_json_pointer).get<double>();
    result["loaders.read_bytes"] += loader.at("read_bytes").get<double>();
  }
  take(object("checkpoints"), "drained", "checkpoints.drained");
  for (const auto& [name, tier] : object("tiers").items()) {
    for (const char* op : {"read", "write"}) {
      const std::string as = fmt::format("tiers.{}.{}.", name, op);
      const nlohmann::json& of = object_if_there(tier, op);
      take(object_if_there(of, "duration_s"), "count", as + "count");
      if (result[as + "count"] == 0) {
        result.erase(as + "count");
        continue;
      }
      for (const char* figure : {"bytes", "busy_s", "busy_mb_per_s"}) take(of, figure, as + figure);
    }
  }
  return result;
}

}  // namespace stoker
