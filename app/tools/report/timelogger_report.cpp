#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "app/base/command_line.h"
#include "app/base/result_table.h"
#include "app/time_log/time_log.h"
#include "app/tools/report/report.h"
#include "app/tools/report/run_files.h"
#include "io/core/system/file.h"
#include "io/core/text/json.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

using Json = nlohmann::json;

constexpr size_t kBadLinesPrinted = 5;

// What the runs among `paths` read; absent where one of them is no run or does not say.
std::optional<double> bytes_read(const std::vector<std::string>& paths) {
  double bytes = 0;
  for (const std::string& run : paths) {
    for (const std::string& path : directories_of_ranks(run)) {
      if (!std::filesystem::exists(path + "/summary.json")) return std::nullopt;
      const Json summary = read_run_outcome(path).summary;
      if (!summary.contains("loaders")) return std::nullopt;
      using_files_of({path}, [&] {
        for (const Json& loader : summary["loaders"]) {
          bytes += loader.at("read_bytes").get<double>();
        }
      });
    }
  }
  return bytes;
}

double number(const Json& figures, const char* name) { return figures.at(name).get<double>(); }

void print_methods(const Json& figures) {
  if (figures.contains("hepcnnb")) {
    const Json& of = figures["hepcnnb"];
    fmt::print(
        "nested sums / {} (HEPCNNB): read {:.3f} s, load {:.3f} s, training {:.3f} s, "
        "checkpoints {:.3f} s; read share {:.2f} %\n",
        plural(figures["nodes"].get<int64_t>(), "node"), number(of, "read_s"), number(of, "load_s"),
        number(of, "training_s"), number(of, "checkpoint_s"), 100 * number(of, "read_share"));
  }
  if (figures.contains("cdb")) {
    const Json& of = figures["cdb"];
    fmt::print(
        "merged intervals of all ranks by epoch (CDB): read {:.3f} s, training {:.3f} s; index "
        "{:.2f} %, with validation {:.2f} %; of the {:.3f} s of the run, reads were under way in "
        "{:.2f} %, and in {:.2f} % "
        "while no rank trained\n",
        number(of, "read_s"), number(of, "training_s"), 100 * number(of, "index"),
        100 * number(of, "index_with_validation"), number(of, "run_s"),
        100 * number(of, "read_share_of_run"),
        100 * number(of, "read_alone_s") / number(of, "run_s"));
  }
}

void print_overlap(const Json& overlap) {
  std::map<std::string, double> all;
  const auto line = [](const std::string& who, const std::map<std::string, double>& of) {
    const double read = of.at("read_s"), hidden = of.at("hidden_s"), exposed = of.at("exposed_s");
    fmt::print(
        "  {:<9} {:>10.3f} s of reading: hidden {:.3f} s ({:.1f} %), exposed {:.3f} s ({:.1f} %), "
        "beside checkpoints {:.3f} s, outside of iterations {:.3f} s; blocking share {:.2f} %\n",
        who, read, hidden, 100 * hidden / read, exposed, 100 * exposed / read,
        of.at("checkpoint_s"), of.at("outside_s"), 100 * of.at("waited_s") / of.at("iterations_s"));
  };
  if (!overlap.empty()) fmt::print("reading beside training:\n");
  for (const auto& of : overlap.get<std::vector<std::map<std::string, double>>>()) {
    line(fmt::format("rank {}", of.at("rank")), of);
    for (const auto& [name, value] : of) all[name] += value;
  }
  if (overlap.size() > 1) line("all ranks", all);
}

void print_joined(const Json& joined) {
  for (const Json& of : joined) {
    fmt::print(
        "joined with {}: in its {:.3f} s, {} ran for {:.3f} s, reads for {:.3f} s: hidden {:.3f} "
        "s, "
        "exposed {:.3f} s; neither for {:.3f} s\n",
        of.at("path").get<std::string>(), number(of, "window_s"), of.at("what").get<std::string>(),
        number(of, "operations_s"), number(of, "read_s"), number(of, "hidden_s"),
        number(of, "exposed_s"), number(of, "idle_s"));
  }
}

void print_time_logs(const TimeLog& log, const Json& figures, std::optional<double> bandwidth) {
  fmt::print("{} in {}, {}\n", plural(log.records.size(), "record"),
             plural(log.files.size(), "file"), plural(log.bad.size(), "bad line"));
  for (size_t i = 0; i < std::min(log.bad.size(), kBadLinesPrinted); ++i) {
    fmt::print("  {}:{}: {}\n", log.bad[i].path, log.bad[i].number, log.bad[i].reason);
  }
  ResultTable table(
      {{"", "component"}, {"", "rank"}, {"", "count"}, {"", "sum s", 3}, {"", "merged s", 3}});
  for (const Json& of : figures["components"]) {
    table.add({of.at("description").get<std::string>(), of.at("rank").get<int64_t>(),
               of.at("count").get<int64_t>(), number(of, "sum_s"), number(of, "union_s")});
  }
  fmt::print("{}", table.text());
  print_methods(figures);
  print_overlap(figures["overlap"]);
  print_joined(figures["joined"]);
  if (bandwidth) {
    fmt::print("bandwidth: {:.1f} MB/s (bytes / merged read time of {:.3f} s)\n", *bandwidth,
               number(figures, "read_union_s"));
  }
  for (const Json& note : figures["notes"]) fmt::print("note: {}\n", note.get<std::string>());
}

Json bad_lines(const TimeLog& log) {
  Json bad = Json::array();
  for (const TimeLog::BadLine& line : log.bad) {
    bad.push_back({{"file", line.path}, {"line", line.number}, {"reason", line.reason}});
  }
  return bad;
}

}  // namespace

ExitCode report_time_logs(const TimeLoggerArguments& arguments) {
  const TimeLog log = read_time_logs(arguments.paths, arguments.max_bad);
  Json figures = time_log_figures(log, arguments.nodes.value_or(0));
  figures["joined"] = Json::array();
  for (const std::string& path : arguments.timelines) {
    const std::optional<std::string> text = read_if_there(path, SIZE_MAX, Readable::streams);
    if (!text) throw Error(ExitCode::environment, path + ": there is no such file");
    figures["joined"].push_back(joined_figures(log, read_timeline(*text, path)));
    if (number(figures["joined"].back(), "read_s") > 0) continue;
    figures["notes"].push_back(path + ": no read lies in its time: is it of this run?");
  }
  const double read_s = number(figures, "read_union_s");
  std::optional<double> bandwidth;
  const std::optional<double> bytes = bytes_read(arguments.paths);
  if (bytes && read_s > 0) bandwidth = 1e-6 * *bytes / read_s;
  if (!arguments.json) {
    print_time_logs(log, figures, bandwidth);
    return ExitCode::ok;
  }
  figures["files"] = log.files;
  figures["records"] = log.records.size();
  figures["bad_lines"] = bad_lines(log);
  if (bytes) figures["read_bytes"] = *bytes;
  if (bandwidth) figures["read_mb_per_s"] = *bandwidth;
  fmt::print("{}\n", json_text(figures, 2));
  return ExitCode::ok;
}

}  // namespace stoker
