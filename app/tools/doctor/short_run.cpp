#include "app/tools/doctor/short_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/tools/report/course.h"
#include "app/tools/report/run_files.h"
#include "io/core/error.h"
#include "io/core/system/child_process.h"
#include "io/core/text/json.h"
#include "io/metrics/clock.h"

namespace stoker {
namespace {

// A share of a step's time in which the trainer waited for data: its queue was empty.
constexpr double kWaited = 0.02;
// Shorter windows are one piece together.
constexpr double kPiece_s = 0.05;

struct Row {
  double step = 0, images = 0, end_s = 0, waited = 0;
};

// The rows of steps.csv from where `from` says that the run is steady.
std::vector<Row> steady_rows(const Table& steps, const SteadyFrom& from) {
  const auto& step = steps.column("steps");
  const auto& images = steps.column("images");
  const auto& end = steps.column("wall_s");
  const auto& epoch = steps.column("epoch");
  const auto& waited = steps.column("io_share");
  std::vector<Row> rows;
  for (size_t i = 0; i < steps.rows(); ++i) {
    if (!step[i] || !images[i] || !end[i]) continue;
    if (from.epoch > 0 && epoch[i].value_or(0) < static_cast<double>(from.epoch)) continue;
    rows.push_back({*step[i], *images[i], *end[i], waited.empty() ? 0 : waited[i].value_or(0)});
  }
  // The first window waits for what is not begun before it.
  const auto is_steady = [&](const Row& row) {
    if (&row == &rows.front()) return false;
    return row.waited > kWaited || row.step > rows.front().step + static_cast<double>(from.queued);
  };
  const auto begin = std::ranges::find_if(rows, is_steady);
  return {begin, rows.end()};
}

}  // namespace

ShortRun short_run(const ShortRunOptions& options) {
  std::vector<std::string> words{"train", "--json", options.config};
  words.insert(words.end(), options.overrides.begin(), options.overrides.end());
  words.push_back("run.dir=" + options.directory);
  words.push_back("run.name=" + options.name);
  const TimePoint begin = Clock::now();
  const auto over = [&] {
    if (options.stop_requested && options.stop_requested()) return true;
    return options.seconds && seconds(Clock::now() - begin) > *options.seconds;
  };
  const ChildResult child = run_child(words, options.log, over);
  if (options.stop_requested && options.stop_requested()) {
    throw Error(ExitCode::sigint, "stopped by a signal");
  }
  const bool asked = options.seconds && child.exit_code == static_cast<int>(ExitCode::sigterm);
  if (child.exit_code != 0 && !asked) {
    throw Error(ExitCode::environment,
                fmt::format("run '{}' ended with exit code {}: see {}; paths in the configuration "
                            "are relative to where the run was started",
                            options.name, child.exit_code, options.log));
  }
  ShortRun run;
  run.took_s = seconds(Clock::now() - begin);
  if (asked && child.output.empty()) return run;  // it was still being set up
  run.summary = parse_json(child.output);
  run.directory = newest_run(options.directory, true);
  return run;
}

double whole_rate(const nlohmann::json& summary) {
  const double flush = number_at(summary, "checkpoints.flush_s").value_or(0);
  return summary.at("images").get<double>() / (summary.at("wall_s").get<double>() + flush);
}

double device_limit(const nlohmann::json& summary) {
  const double busy = number_at(summary, "device.busy_s").value_or(0);
  return busy > 0 ? number_at(summary, "images").value_or(0) / busy : 0;
}

std::vector<Piece> steady_pieces(const std::string& directory, const nlohmann::json& summary,
                                 const SteadyFrom& from) {
  if (directory.empty()) return {};
  const std::vector<Row> rows = steady_rows(Table::read(directory + "/steps.csv"), from);
  const double limit = device_limit(summary);
  Course course;
  for (size_t begin = 0, i = 1; i < rows.size(); ++i) {
    const double length = rows[i].end_s - rows[begin].end_s;
    const bool last = i + 1 == rows.size();
    if (length <= 0 || (length < kPiece_s && !last)) continue;
    course.add({(rows[i].images - rows[begin].images) / length, length});
    begin = i;
  }
  std::vector<Piece> pieces = course.pieces();
  // Steps are counted when they are submitted: the device may have taken some of them later.
  const double mean = pieces.empty() ? 0 : level(pieces);
  if (limit > 0 && mean > limit) {
    for (Piece& piece : pieces) piece.value *= limit / mean;
  }
  return pieces;
}

Interval level_of(const std::vector<Piece>& pieces) {
  return difference({Piece{0, 1}}, pieces, Differing::rest);
}

}  // namespace stoker
