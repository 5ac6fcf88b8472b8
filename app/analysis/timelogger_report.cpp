#include "app/analysis/timelogger_report.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/analysis/run_files.h"
#include "app/analysis/timelogger.h"
#include "app/analysis/timelogger_figures.h"
#include "app/base/result_table.h"

namespace stoker {
namespace {

constexpr size_t kBadLinesPrinted = 5;

// What the runs among `paths` read; absent where one of them is no run or does not say.
std::optional<double> bytes_read(const std::vector<std::string>& paths) {
  double bytes = 0;
  for (const std::string& path : paths) {
    if (!std::filesystem::exists(path + "/summary.json")) return std::nullopt;
    const nlohmann::json summary = read_run(path).summary;
    if (!summary.contains("loaders")) return std::nullopt;
    for (const nlohmann::json& loader : summary["loaders"]) {
      bytes += loader.at("read_bytes").get<double>();
    }
  }
  return bytes;
}

void print_methods(const TimeLogFigures& figures) {
  if (const auto& of = figures.nested) {
    fmt::print(
        "nested sums / {} nodes (HEPCNNB): read {:.3f} s, load {:.3f} s, training {:.3f} s, "
        "checkpoints {:.3f} s; read share {:.2f} %\n",
        figures.nodes, of->read_s, of->load_s, of->training_s, of->checkpoint_s,
        100 * of->read_share);
  }
  if (const auto& of = figures.merged) {
    fmt::print(
        "merged intervals of all ranks by epoch (CDB): read {:.3f} s, training {:.3f} s; index "
        "{:.2f} %; of the {:.3f} s of the run, reads were under way in {:.2f} %\n",
        of->read_s, of->training_s, 100 * of->index, of->run_s, 100 * of->read_share_of_run);
  }
}

void print_overlap(const TimeLogFigures& figures) {
  OverlapFigures all;
  const auto line = [](const std::string& who, const OverlapFigures& of) {
    fmt::print(
        "  {:<9} {:>10.3f} s of reading: hidden {:.3f} s ({:.1f} %), exposed {:.3f} s ({:.1f} %), "
        "beside checkpoints {:.3f} s, outside of iterations {:.3f} s\n",
        who, of.read_s, of.hidden_s, 100 * of.hidden_s / of.read_s, of.exposed_s,
        100 * of.exposed_s / of.read_s, of.checkpoint_s, of.outside_s);
  };
  if (!figures.overlap.empty()) fmt::print("reading beside training:\n");
  for (const auto& [rank, of] : figures.overlap) {
    line(fmt::format("rank {}", rank), of);
    all.read_s += of.read_s;
    all.hidden_s += of.hidden_s;
    all.exposed_s += of.exposed_s;
    all.checkpoint_s += of.checkpoint_s;
    all.outside_s += of.outside_s;
  }
  if (figures.overlap.size() > 1) line("all ranks", all);
}

void print_time_logs(const TimeLog& log, const TimeLogFigures& figures,
                     std::optional<double> bandwidth) {
  fmt::print("{} records in {} files, {} bad lines\n", log.records.size(), log.files.size(),
             log.bad.size());
  for (size_t i = 0; i < std::min(log.bad.size(), kBadLinesPrinted); ++i) {
    fmt::print("  {}:{}: {}\n", log.bad[i].path, log.bad[i].number, log.bad[i].reason);
  }
  ResultTable table(
      {{"", "component"}, {"", "rank"}, {"", "count"}, {"", "sum s", 3}, {"", "merged s", 3}});
  for (const auto& [key, of] : figures.components) {
    table.add({key.first, key.second, of.count, of.sum_s, of.union_s});
  }
  fmt::print("{}", table.text());
  print_methods(figures);
  print_overlap(figures);
  if (bandwidth) {
    fmt::print("bandwidth: {:.1f} MB/s (bytes / merged read time of {:.3f} s)\n", *bandwidth,
               figures.read_union_s);
  }
  for (const std::string& note : figures.notes) fmt::print("note: {}\n", note);
}

nlohmann::json bad_lines(const TimeLog& log) {
  nlohmann::json bad = nlohmann::json::array();
  for (const TimeLog::BadLine& line : log.bad) {
    bad.push_back({{"file", line.path}, {"line", line.number}, {"reason", line.reason}});
  }
  return bad;
}

}  // namespace

ExitCode report_time_logs(const TimeLoggerArguments& arguments) {
  const TimeLog log = read_time_logs(arguments.paths, arguments.max_bad);
  const TimeLogFigures figures = time_log_figures(log, arguments.nodes.value_or(0));
  std::optional<double> bandwidth;
  const std::optional<double> bytes = bytes_read(arguments.paths);
  if (bytes && figures.read_union_s > 0) bandwidth = 1e-6 * *bytes / figures.read_union_s;
  if (!arguments.json) {
    print_time_logs(log, figures, bandwidth);
    return ExitCode::ok;
  }
  nlohmann::json json = figures;
  json["files"] = log.files;
  json["records"] = log.records.size();
  json["bad_lines"] = bad_lines(log);
  if (bytes) json["read_bytes"] = *bytes;
  if (bandwidth) json["read_mb_per_s"] = *bandwidth;
  fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  return ExitCode::ok;
}

}  // namespace stoker
