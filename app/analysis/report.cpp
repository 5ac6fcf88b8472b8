#include "app/analysis/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/analysis/run_page.h"
#include "app/analysis/sweep_page.h"
#include "io/core/file.h"

namespace stoker {
namespace {

bool is_sweep(const std::string& directory) {
  return read_if_there(directory + "/results.json").has_value();
}

nlohmann::json read_sweep_results(const std::string& directory) {
  const std::string path = directory + "/results.json";
  try {
    return nlohmann::json::parse(read_if_there(path).value_or(""));
  } catch (const nlohmann::json::exception& error) {
    throw Error(ExitCode::environment, path + ": " + error.what());
  }
}

std::string page_of(const std::vector<std::string>& directories) {
  const auto sweeps = std::ranges::count_if(directories, is_sweep);
  if (sweeps == std::ssize(directories)) {
    std::vector<nlohmann::json> results;
    results.reserve(directories.size());
    for (const std::string& directory : directories) {
      results.push_back(read_sweep_results(directory));
    }
    return results.size() == 1 ? sweep_page(results.front()) : sweeps_page(results);
  }
  if (sweeps > 0) {
    throw Error(ExitCode::config, "report: give runs, or sweeps, but not both for one page");
  }
  std::vector<RunFiles> runs;
  runs.reserve(directories.size());
  for (const std::string& directory : directories) runs.push_back(read_run_so_far(directory));
  return run_page(runs);
}

}  // namespace

ExitCode write_report(const ReportArguments& arguments) {
  const std::string page = page_of(arguments.directories);
  const std::string path =
      arguments.output.empty() ? arguments.directories.front() + "/report.html" : arguments.output;
  atomic_write_file(path, {reinterpret_cast<const uint8_t*>(page.data()), page.size()});
  if (arguments.json) {
    fmt::print("{}\n", nlohmann::json{{"report", path}, {"bytes", page.size()}}.dump());
  } else {
    fmt::print("{}\n", path);
  }
  return ExitCode::ok;
}

}  // namespace stoker
