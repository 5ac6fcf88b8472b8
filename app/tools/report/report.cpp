#include "app/tools/report/report.h"

#include <fmt/format.h>
#include <stoker_version.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "app/tools/darshan/darshan.h"
#include "io/core/system/file.h"
#include "io/core/text/json.h"
#include "io/core/threads.h"

namespace stoker {
namespace {

bool is_log(const std::string& path) {
  return path.ends_with(".darshan") && !std::filesystem::is_directory(path);
}

// What `stoker run` has left beside its log, OUT.json beside OUT.darshan. Absent: there is no such
// file, or it is something else's.
std::optional<nlohmann::json> program_beside(const std::string& log) {
  const std::string path = std::filesystem::path(log).replace_extension(".json");
  if (!std::filesystem::is_regular_file(path)) return std::nullopt;
  try {
    nlohmann::json record = read_json(path);
    if (record.is_object() && record.value("kind", "") == "program") return record;
  } catch (const std::exception&) {
    // Another program's file of that name, which need not be one of ours.
  }
  return std::nullopt;
}

}  // namespace

std::string report_html(nlohmann::json data) {
  constexpr std::string_view kPlace = "{{data}}";
  data["version"] = STOKER_VERSION;
  std::string text;
  for (const char c : json_text(data)) {
    // A '<' could begin an element or a comment of HTML. In JSON it only stands in texts, so it can
    // be escaped.
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  std::string page(report_page());
  return page.replace(page.find(kPlace), kPlace.size(), text);
}

std::string sweep_page(const std::vector<nlohmann::json>& results) {
  for (const nlohmann::json& sweep : results) {
    if (sweep.is_object() && sweep.value("schema_version", nlohmann::json()) == 1) continue;
    throw Error(ExitCode::environment,
                "results.json: expected schema_version 1: was it written by `stoker sweep` of this "
                "release?");
  }
  nlohmann::json data = {{"kind", "sweeps"}, {"sweeps", results}};
  if (results.size() == 1) {
    data = results.front();
    data["kind"] = "sweep";
  }
  return report_html(std::move(data));
}

std::string page_of(const std::vector<std::string>& directories) {
  const auto logs = std::ranges::count_if(directories, is_log);
  if (logs == std::ssize(directories)) return profile_page(directories);
  const auto sweeps = std::ranges::count_if(directories, is_sweep);
  if (sweeps == std::ssize(directories)) {
    std::vector<nlohmann::json> results;
    results.reserve(directories.size());
    for (const std::string& directory : directories) {
      results.push_back(read_json(directory + "/results.json"));
    }
    return sweep_page(results);
  }
  if (sweeps + logs > 0) {
    throw Error(
        ExitCode::config,
        "report: give runs, or sweeps, or Darshan logs, but not several kinds for one page");
  }
  std::vector<RunFiles> runs;
  runs.reserve(directories.size());
  for (const std::string& directory : directories) {
    throw_if_interrupted();
    runs.push_back(read_run_so_far(directory));
  }
  return report_html(run_page_data(runs));
}

std::string profile_page(const std::vector<std::string>& logs) {
  nlohmann::json list = nlohmann::json::array();
  for (const std::string& log : logs) {
    list.push_back(profile_log_data(log, log));
    if (auto program = program_beside(log)) list.back()["program"] = *std::move(program);
  }
  return report_html({{"kind", "profiles"}, {"profiles", std::move(list)}});
}

ExitCode write_report(const ReportArguments& arguments) {
  std::vector<std::string> directories = arguments.directories;
  for (std::string& directory : directories) {
    if (!is_sweep(directory)) directory = newest_run(directory, false);
  }
  const std::string page = using_files_of(directories, [&] { return page_of(directories); });
  const std::string& first = directories.front();
  const std::string beside = first + (is_log(first) ? ".html" : "/report.html");
  const std::string path = arguments.output.empty() ? beside : arguments.output;
  atomic_write_file(path, {reinterpret_cast<const uint8_t*>(page.data()), page.size()});
  if (is_standard_output(path)) return ExitCode::ok;  // nothing is mixed with the page
  if (arguments.json) {
    fmt::print("{}\n", json_text(nlohmann::json{{"report", path}, {"bytes", page.size()}}));
  } else {
    fmt::print("{}\n", path);
  }
  return ExitCode::ok;
}

}  // namespace stoker
