#include <fcntl.h>
#include <fmt/format.h>

#include <cmath>
#include <ext/stdio_filebuf.h>
#include <filesystem>
#include <istream>
#include <nlohmann/json.hpp>

#include "app/base/result_table.h"
#include "app/tools/report/report.h"
#include "app/tools/report/run_files.h"
#include "app/tools/report/trace_figures.h"
#include "io/core/system/file.h"
#include "io/core/text/json.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

TraceFigures read_trace(const std::string& path) {
  FileDescriptor file = open_regular("read", path, O_RDONLY);
  if (!file) {
    throw Error(ExitCode::environment,
                path + " is missing: add {type: trace, steps: 1000000} to metrics.sinks");
  }
  __gnu_cxx::stdio_filebuf<char> buffer(file.release(), std::ios::in);
  std::istream trace(&buffer);
  return trace_figures(trace, path);
}

// The same figures out of a summary.json.
NamedFigures figures_of_summary(const nlohmann::json& summary) {
  using nlohmann::literals::operator""_json_pointer;
  NamedFigures result;
  const auto take = [&](const nlohmann::json& tree, const std::string& path,
                        const std::string& name) {
    if (const auto value = number_at(tree, path)) result[name] = *value;
  };
  for (const char* name : {"wall_s", "io_share", "steps", "device.observed_s", "device.busy_s",
                           "device.idle_share", "checkpoints.drained"}) {
    take(summary, name, name);
  }
  if (const auto before = number_at(summary, "resumed.step")) result["steps"] -= *before;
  for (const auto& [name, time] : member_at(summary, "segments_s").items()) {
    result["segments_s." + name] = time.get<double>();
  }
  for (const nlohmann::json& loader : member_at(summary, "loaders")) {
    result["loaders.samples_read"] +=
        loader.at("/stages/read/duration_s/count"_json_pointer).get<double>();
    result["loaders.read_bytes"] += loader.at("read_bytes").get<double>();
  }
  for (const auto& [name, tier] : member_at(summary, "tiers").items()) {
    for (const std::string op : {"read", "write"}) {
      if (number_at(tier, op + ".duration_s.count").value_or(0) == 0) continue;
      const std::string as = fmt::format("tiers.{}.{}.", name, op);
      take(tier, op + ".duration_s.count", as + "count");
      for (const char* figure : {"bytes", "busy_s", "busy_mb_per_s"}) {
        take(tier, op + "." + figure, as + figure);
      }
    }
  }
  return result;
}

// The deviations of the figures that both have. If both are zero, the deviation is zero.
NamedFigures deviations(const NamedFigures& trace, const NamedFigures& summary) {
  NamedFigures result;
  for (const auto& [name, value] : trace) {
    const auto other = summary.find(name);
    if (other == summary.end()) continue;
    const double difference = value - other->second;
    if (difference == 0) {
      result[name] = 0;
    } else if (other->second != 0) {
      result[name] = 100 * difference / std::abs(other->second);
    }
  }
  return result;
}

}  // namespace

ExitCode compare_with_trace(const std::string& run, bool json) {
  const TraceFigures figures = read_trace(run + "/trace.json");
  const NamedFigures& from_trace = figures.values;
  const bool complete = figures.incomplete.empty();
  const bool ended = std::filesystem::exists(run + "/summary.json");
  NamedFigures from_summary, deviation;
  if (ended) {
    from_summary =
        using_files_of({run}, [&] { return figures_of_summary(read_run_outcome(run).summary); });
  }
  if (complete) deviation = deviations(from_trace, from_summary);
  if (json) {
    nlohmann::json line = {{"complete", complete},           {"events", figures.events},
                           {"bad_lines", figures.bad_lines}, {"trace", from_trace},
                           {"summary", from_summary},        {"deviation_percent", deviation}};
    if (!complete) line["incomplete"] = figures.incomplete;
    fmt::print("{}\n", json_text(line, 2));
    return ExitCode::ok;
  }
  fmt::print("{}, {} that cannot be read\n", plural(figures.events, "event"),
             plural(figures.bad_lines, "line"));
  if (!complete) {
    fmt::print("not compared with summary.json: the trace is not whole; {}\n", figures.incomplete);
  } else if (!ended) {
    fmt::print("not compared: there is no summary.json\n");
  }
  ResultTable table({{"", "figure"},
                     {"", "from the trace", 6},
                     {"", "summary.json", 6},
                     {"", "differs by %", 3}});
  const auto value_in = [](const NamedFigures& values, const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() ? ResultTable::Cell() : ResultTable::Cell(found->second);
  };
  for (const auto& [name, value] : from_trace) {
    table.add({name, value, value_in(from_summary, name), value_in(deviation, name)});
  }
  fmt::print("{}", table.text());
  return ExitCode::ok;
}

}  // namespace stoker
