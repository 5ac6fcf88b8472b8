#include "app/tools/report/trace_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <istream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "app/time_log/time_log.h"
#include "io/core/error.h"
#include "io/core/text/json.h"

namespace stoker {
namespace {

constexpr double kNanoseconds = 1e-9;

double seconds_in(const TimeSpans& spans) {
  return kNanoseconds * static_cast<double>(total(spans));
}

// Collects events, and says in the end what they come to.
class TraceReader {  // NOLINT(bugprone-exception-escape): nlohmann::json's move
 public:
  void add_line(std::string_view line) {
    line = line.substr(std::min(line.find_first_not_of(", []\r"), line.size()));
    if (line.empty()) return;
    std::optional<nlohmann::json> event = try_parse_json(line);
    if (!event || !event->is_object()) {
      ++figures_.bad_lines;
    } else if (event->value("ph", "") == "X") {
      add_event(*event);
    } else if (event->value("name", "") == "trace_end") {
      end_ = std::move(event->at("args"));  // a copy of deep ones would take much stack
    }
  }

  TraceFigures figures() {
    figures_.incomplete = missing();
    NamedFigures& values = figures_.values;
    if (loop_) values["wall_s"] = seconds_in({*loop_});
    for (const auto& [name, ns] : segments_) {
      values["segments_s." + name] = kNanoseconds * ns;
    }
    if (values["wall_s"] > 0) {
      values["io_share"] = values["segments_s.data_wait"] / values["wall_s"];
    }
    add_device();
    const int64_t end = loop_ ? loop_->end : kAlways;
    for (const Moved& read : loader_reads_) {
      if (read.span.end > end) continue;
      ++values["loaders.samples_read"];
      values["loaders.read_bytes"] += read.bytes;
    }
    for (const auto& [tier, operations] : tiers_) {
      const auto& [reads, writes] = operations;
      add_tier(fmt::format("tiers.{}.read.", tier), reads, writes.empty() ? end : kAlways);
      add_tier(fmt::format("tiers.{}.write.", tier), writes, kAlways);
    }
    return figures_;
  }

 private:
  static constexpr int64_t kAlways = std::numeric_limits<int64_t>::max();
  struct Moved {
    TimeSpan span;
    double bytes;
  };

  void add_event(const nlohmann::json& event) {
    const auto microseconds = [&](const char* key) { return event.at(key).get<double>(); };
    const double begin_us = microseconds("ts"), took_us = microseconds("dur");
    // A year: no event of a run, and nanoseconds would overflow later.
    constexpr double kYearUs = 3.2e13;
    if (!(std::abs(begin_us) < kYearUs && took_us >= 0 && took_us < kYearUs)) {
      ++figures_.bad_lines;
      return;
    }
    ++figures_.events;
    const auto begin = std::llround(1e3 * begin_us);
    const TimeSpan span{begin, begin + std::llround(1e3 * took_us)};
    const auto category = event.at("cat").get<std::string>();
    const auto name = event.at("name").get<std::string>();
    const double bytes = number_at(event, "args.bytes").value_or(0);
    if (category == "trainer") {
      add_segment(name, span);
    } else if (category == "device" && name == "step") {
      steps_.push_back(span);
    } else if (category == "loader" && name == "read") {
      loader_reads_.push_back({span, bytes});
    } else if (category == "checkpoint" && name == "drain") {
      ++figures_.values["checkpoints.drained"];
    } else if (category == "storage") {
      add_operation(name, span, bytes);
    }
  }

  void add_segment(const std::string& name, const TimeSpan& span) {
    segments_[name] += static_cast<double>(span.end - span.begin);
    if (!loop_) loop_ = span;
    loop_->begin = std::min(loop_->begin, span.begin);
    loop_->end = std::max(loop_->end, span.end);
  }

  // "TIER: read"
  void add_operation(const std::string& name, const TimeSpan& span, double bytes) {
    const size_t colon = name.rfind(": ");
    if (colon == std::string::npos) return;
    const std::string tier = name.substr(0, colon), operation = name.substr(colon + 2);
    if (operation != "read" && operation != "write") return;
    tiers_[tier][operation == "write"].push_back({span, bytes});
  }

  // The same rule as Hub::end_loop: what lies behind `end` is no part of the run.
  void add_tier(const std::string& figure, const std::vector<Moved>& operations, int64_t end) {
    if (operations.empty()) return;
    double count = 0, bytes = 0;
    TimeSpans spans;
    for (const Moved& one : operations) {
      if (one.span.begin < end) spans.push_back({one.span.begin, std::min(one.span.end, end)});
      if (one.span.end > end) continue;
      ++count;
      bytes += one.bytes;
    }
    const double busy_s = seconds_in(unite(std::move(spans)));
    NamedFigures& values = figures_.values;
    values[figure + "count"] = count;
    values[figure + "bytes"] = bytes;
    values[figure + "busy_s"] = busy_s;
    if (busy_s > 0) values[figure + "busy_mb_per_s"] = 1e-6 * bytes / busy_s;
  }

  // The same rule as IdleAttribution: from the loop's begin to the last step's end, and no moment
  // counts twice.
  void add_device() {
    NamedFigures& values = figures_.values;
    values["steps"] = static_cast<double>(steps_.size());
    const TimeSpans busy = unite(std::move(steps_));
    if (busy.empty() || !loop_) return;
    const TimeSpan observed{loop_->begin, busy.back().end};
    values["device.busy_s"] = seconds_in(intersect(busy, {observed}));
    values["device.observed_s"] = seconds_in({observed});
    if (values["device.observed_s"] <= 0) return;
    values["device.idle_share"] = 1 - values["device.busy_s"] / values["device.observed_s"];
  }

  // Empty: nothing.
  std::string missing() const {
    if (end_.is_null()) return "it was not closed: the process was killed, or still runs";
    if (!end_.value("whole_run", false)) {
      return "it is shorter than the run: metrics.sinks trace.first_step 0 and trace.steps above "
             "the run's";
    }
    for (const auto& [name, what] : {std::pair("dropped", "were dropped"),
                                     std::pair("over_max_bytes", "were over max_bytes")}) {
      const double events = number_at(end_, name).value_or(0);
      if (events > 0) return fmt::format("{} events {}", events, what);
    }
    return "";
  }

  // Figures that a trace has also without a single such event.
  TraceFigures figures_{.values = {{"steps", 0},
                                   {"wall_s", 0},
                                   {"io_share", 0},
                                   {"device.observed_s", 0},
                                   {"device.busy_s", 0},
                                   {"loaders.samples_read", 0},
                                   {"loaders.read_bytes", 0},
                                   {"checkpoints.drained", 0}}};
  nlohmann::json end_;
  std::map<std::string, double> segments_;  // nanoseconds
  std::optional<TimeSpan> loop_;
  TimeSpans steps_;
  std::vector<Moved> loader_reads_;
  std::map<std::string, std::array<std::vector<Moved>, 2>> tiers_;  // what was read, written
};

}  // namespace

TraceFigures trace_figures(std::istream& trace, const std::string& path) {
  TraceReader reader;
  try {
    for (std::string line; std::getline(trace, line);) reader.add_line(line);
    return reader.figures();
  } catch (const nlohmann::json::exception& error) {
    throw Error(ExitCode::environment, path + ": is it a trace of stoker's? " + error.what());
  }
}

}  // namespace stoker
