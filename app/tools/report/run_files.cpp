#include "app/tools/report/run_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "io/core/error.h"
#include "io/core/system/file.h"
#include "io/core/text/json.h"
#include "io/experiment/run_plan.h"

namespace stoker {

namespace fs = std::filesystem;

std::optional<std::string> read_own_file(const std::string& path) {
  constexpr size_t kMost = 64 << 20;
  std::optional<std::string> text = read_if_there(path, kMost + 1);
  if (text && text->size() > kMost) {
    throw Error(ExitCode::data, path + ": it has more than 64 MiB: stoker writes no such file");
  }
  return text;
}

nlohmann::json read_json(const std::string& path) {
  const std::optional<std::string> text = read_own_file(path);
  if (!text) {
    throw Error(ExitCode::environment,
                path + " is missing: name the directory of a run that has ended");
  }
  return parse_run_json(*text, path);
}

nlohmann::json parse_run_json(std::string_view text, const std::string& path) {
  try {
    return parse_json(text, kOwnFiles);
  } catch (const Error& error) {
    throw Error(ExitCode::data, path + ": " + error.what());
  }
}

namespace {

RunFiles without_tables(const std::string& directory) {
  RunFiles run;
  run.directory = directory;
  const std::string summary = run.path("summary.json");
  if (const auto text = read_own_file(summary)) run.summary = parse_run_json(*text, summary);
  run.environment = read_json(run.path("environment.json"));
  run.config = read_own_file(run.path("config.yaml")).value_or("");
  return run;
}

}  // namespace

RunFiles read_run_so_far(const std::string& directory) {
  RunFiles run = without_tables(directory);
  run.steps = Table::read(run.path("steps.csv"));
  run.timeline = Table::read(run.path("timeline.csv"));
  return run;
}

RunFiles read_run_outcome(const std::string& directory) {
  read_json(directory + "/summary.json");
  return without_tables(directory);
}

void refuse_files_of(const std::vector<std::string>& directories, const char* why) {
  throw Error(ExitCode::data,
              fmt::format("summary.json, environment.json or results.json of {} is not as stoker "
                          "writes it ({}): was it changed, or made by another release?",
                          fmt::join(directories, " or "), why));
}

std::string verdict_word(const nlohmann::json& summary) {
  const nlohmann::json& level = member_at(summary, "verdict.level");
  return level.is_string() ? level.get<std::string>() : "";
}

bool is_run(const std::string& directory) {
  const fs::path path(directory);
  std::error_code ignored;
  return fs::exists(path / "summary.json", ignored) ||
         (fs::exists(path / "config.yaml", ignored) && fs::exists(path / "overrides", ignored));
}

bool is_sweep(const std::string& directory) {
  std::error_code ignored;
  return fs::exists(fs::path(directory) / "results.json", ignored);
}

std::string newest_run(const std::string& path, bool ended) {
  if (is_run(path)) return path;
  std::error_code error;
  std::pair<fs::file_time_type, std::string> last{fs::file_time_type::min(), ""};
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    const std::string one = entry.path().string();
    if (entry.is_symlink(error) || !is_run(one)) continue;
    if (ended && !fs::exists(one + "/summary.json", error)) continue;
    // Written when the run began, and never again.
    const std::pair begun(fs::last_write_time(one + "/config.yaml", error), one);
    if (last.second.empty() || begun > last) last = begun;
  }
  return last.second.empty() ? path : last.second;
}

nlohmann::json record_of(const RunFiles& run) {
  nlohmann::json record = run.summary;
  if (!record.contains("plan")) {
    record["plan"] = plan_of(parse_yaml(run.config, run.path("config.yaml")));
  }
  if (const auto cores = number_at(run.environment, "cpu.cores");
      cores && !number_at(record, "process.usable_cores")) {
    record["process"]["usable_cores"] = *cores;
  }
  return record;
}

Verdict verdict_of(const RunFiles& run) {
  return judge(record_of(run), parse_yaml(run.config, run.path("config.yaml")));
}

RunFiles read_run(const std::string& directory) {
  read_json(directory + "/summary.json");
  return read_run_so_far(directory);
}

}  // namespace stoker
