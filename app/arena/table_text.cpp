#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "app/arena/table.h"
#include "io/device/host_memory.h"
#include "io/loader/loader.h"

namespace stoker {
namespace {

using nlohmann::json;

std::string optional_text(const std::optional<double>& value, const char* format) {
  return value ? fmt::format(fmt::runtime(format), *value) : "-";
}

std::string pixels_text(const ArenaTableLine& line) {
  if (!line.pixels) return "-";
  if (line.pixels->reference == line.name) return "ref";
  return fmt::format("{:.3f}", line.pixels->mean);
}

std::vector<std::string> cells(const ArenaTableLine& line) {
  return {line.klass,
          line.name + (line.ours ? " *" : ""),
          std::to_string(line.workers),
          fmt::format("{:.0f}", line.median),
          fmt::format("{:.0f}-{:.0f}", line.min, line.max),
          fmt::format("{:.1f} %", 100 * (line.max - line.min) / line.median),
          optional_text(line.cpu_s_per_1000, "{:.3f}"),
          optional_text(line.peak_mb, "{:.0f}"),
          optional_text(line.pss_mb, "{:.0f}"),
          optional_text(line.ratio, "{:.2f}"),
          pixels_text(line),
          line.buffers.empty() ? "-" : line.buffers};
}

// Columns as wide as they must be; text to the left, numbers to the right.
std::string aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += i < 2 ? fmt::format("{:<{}}  ", row[i], widths[i])
                    : fmt::format("{:>{}}  ", row[i], widths[i]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

json line_json(const ArenaTableLine& line) {
  json out = {{"class", line.klass},     {"name", line.name},      {"workers", line.workers},
              {"ours", line.ours},       {"rounds", line.rounds},  {"images_per_s", line.median},
              {"min", line.min},         {"max", line.max},        {"batches", line.batches},
              {"buffers", line.buffers}, {"version", line.version}};
  if (line.cpu_s_per_1000) out["cpu_s_per_1000"] = *line.cpu_s_per_1000;
  if (line.peak_mb) out["peak_mb"] = *line.peak_mb;
  if (line.pss_mb) out["pss_mb"] = *line.pss_mb;
  if (line.ratio) out["ratio_to_best_other"] = *line.ratio;
  if (line.pixels) {
    out["pixels"] = {{"reference", line.pixels->reference},
                     {"mean", line.pixels->mean},
                     {"p99", line.pixels->p99},
                     {"max", line.pixels->max}};
  }
  return out;
}

}  // namespace

json arena_conditions() {
  utsname kernel{};
  uname(&kernel);
  const auto memory = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  return {{"cpu", cpu_name()},
          {"cores", Workers{}.resolve()},
          {"memory_mb", memory / 1000000},
          {"kernel", fmt::format("{} {}", kernel.sysname, kernel.release)}};
}

json table_json(const ArenaOptions& options, const ArenaTable& table) {
  json out = {{"name", options.name},     {"work", options.work},
              {"rounds", options.rounds}, {"epochs", options.epochs},
              {"seed", options.seed},     {"conditions", arena_conditions()},
              {"lines", json::array()},   {"absent", json::array()},
              {"failed", json::array()},  {"missing_runs", table.missing_runs}};
  if (table.load) out["conditions"]["load"] = {table.load->first, table.load->second};
  for (const ArenaTableLine& line : table.lines) out["lines"].push_back(line_json(line));
  for (const ArenaEntry& entry : table.absent) {
    out["absent"].push_back(
        {{"name", entry.name}, {"class", entry.klass}, {"install", entry.install}});
  }
  for (const ArenaFailure& failure : table.failed) {
    out["failed"].push_back({{"name", failure.name},
                             {"workers", failure.workers},
                             {"round", failure.round},
                             {"error", failure.error}});
  }
  return out;
}

std::string table_text(const ArenaOptions& options, const ArenaTable& table) {
  std::string text = fmt::format("{}: {}\n\n", options.name, options.work);
  std::vector<std::vector<std::string>> rows{{"class", "name", "workers", "images/s", "min-max",
                                              "spread", "CPU-s/1000", "peak MB", "PSS MB", "ratio",
                                              "pixels", "buffers"}};
  for (const ArenaTableLine& line : table.lines) rows.push_back(cells(line));
  text += aligned(rows);
  text +=
      "\n* ours. images/s: median of the rounds' medians; min-max: of all measured epochs. ratio: "
      "to "
      "the class's best with as many workers,\nours aside. peak: sum of the processes' peaks; PSS: "
      "shared pages counted once. pixels: mean difference from the class's reference in grey "
      "levels.\n";
  for (const ArenaEntry& entry : table.absent) {
    text += fmt::format("not there: {} ({}): {}\n", entry.name, entry.klass,
                        entry.install.empty() ? "needs " + entry.needs : entry.install);
  }
  for (const ArenaFailure& failure : table.failed) {
    text += fmt::format("failed: {} workers={} round {}: {}\n", failure.name, failure.workers,
                        failure.round, failure.error);
  }
  if (table.missing_runs > 0) {
    text +=
        fmt::format("{} runs are still to be done: the same command goes on\n", table.missing_runs);
  }
  std::set<std::string> versions;
  for (const ArenaTableLine& line : table.lines) {
    if (!line.version.empty()) versions.insert(line.version);
  }
  const json conditions = arena_conditions();
  text += fmt::format("conditions: {}, {} cores, {} MB, {}", conditions["cpu"].get<std::string>(),
                      conditions["cores"].get<int64_t>(), conditions["memory_mb"].get<int64_t>(),
                      conditions["kernel"].get<std::string>());
  if (table.load) {
    text +=
        fmt::format("; load before a run {:.1f} to {:.1f}", table.load->first, table.load->second);
  }
  text += fmt::format(
      "; {} rounds of {} epochs after one that is dropped, interleaved, one command at a time\n",
      options.rounds, options.epochs);
  if (!versions.empty()) text += fmt::format("versions: {}\n", fmt::join(versions, "; "));
  for (const ArenaEntry& entry : options.entries) {
    const bool shown =
        std::any_of(table.lines.begin(), table.lines.end(),
                    [&](const ArenaTableLine& line) { return line.name == entry.name; });
    if (shown && !entry.note.empty()) text += fmt::format("{}: {}\n", entry.name, entry.note);
  }
  return text;
}

}  // namespace stoker
