#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <set>
#include <vector>

#include "app/base/result_table.h"
#include "app/tools/report/run_files.h"
#include "app/tools/runs/run_list.h"
#include "io/core/config/config.h"
#include "io/core/system/file.h"
#include "io/core/system/neighbours.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

std::vector<ListedRun> chosen(const RemoveArguments& arguments) {
  if (is_sweep(arguments.folder)) return {};  // its runs stay
  std::vector<ListedRun> runs = list_runs(arguments.folder);
  std::erase_if(runs, [](const ListedRun& run) { return run.sweep; });
  if (arguments.keep) {
    runs.resize(runs.size() - std::min(runs.size(), static_cast<size_t>(*arguments.keep)));
  }
  if (!arguments.older.empty()) {
    Duration age;
    if (!Scalar<Duration>::parse(arguments.older, age)) {
      throw Error(ExitCode::config, "--older: must be a time such as 7d, 12h or 30min, got '" +
                                        arguments.older + "'");
    }
    const double before =
        static_cast<double>(std::time(nullptr)) - 1e-3 * static_cast<double>(age.ms);
    std::erase_if(runs, [&](const ListedRun& run) { return *run.started_unix_s >= before; });
  }
  std::erase_if(runs, [&](const ListedRun& run) {
    const bool bad = run.state == RunState::failed || run.state == RunState::killed;
    return run.state == RunState::running || (arguments.failed && !bad);
  });
  return runs;
}

// The bytes of the files in a directory.
uint64_t bytes_in(const std::string& directory) {
  uint64_t bytes = 0;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(directory, error)) {
    if (entry.is_regular_file(error)) bytes += entry.file_size(error);
  }
  return bytes;
}

bool agreed(size_t count, uint64_t bytes) {
  fmt::print("remove {} ({:.1f} MB)? [y/N] ", plural(count, "run"),
             1e-6 * static_cast<double>(bytes));
  std::fflush(stdout);
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "yes";
}

// The link of a folder from which runs were removed.
void mend_latest(const std::string& folder) {
  const fs::path link = fs::path(folder) / "latest";
  std::error_code error;
  if (!fs::is_symlink(link, error) || fs::exists(link, error)) return;
  const std::string newest = newest_run(folder, false);
  if (newest == folder) {
    fs::remove(link, error);
  } else {
    replace_link(fs::path(newest).filename().string(), link.string());
  }
}

}  // namespace

ExitCode print_runs(const RunsArguments& arguments) {
  std::vector<ListedRun> runs = list_runs(arguments.folder, arguments.sort);
  sort_runs(runs, arguments.sort);
  if (arguments.csv) {
    fmt::print("{}", runs_csv(runs));
    return ExitCode::ok;
  }
  const std::string none = fmt::format("no runs in {}\n", arguments.folder);
  if (arguments.json) return print_result(true, runs_json(arguments.folder, runs), "", 2);
  return print_result(false, {}, runs.empty() ? none : runs_text(runs), 2);
}

ExitCode remove_runs(const RemoveArguments& arguments) {
  const int asked = arguments.failed + arguments.keep.has_value() + !arguments.older.empty();
  if (asked != 1) {
    throw Error(ExitCode::config, "runs rm: say which: --failed, --keep N, or --older 7d");
  }
  const std::vector<ListedRun> runs = chosen(arguments);
  if (runs.empty()) {
    fmt::print("nothing to remove in {}\n", arguments.folder);
    return ExitCode::ok;
  }
  uint64_t bytes = 0;
  for (const ListedRun& run : runs) bytes += bytes_in(run.directory);
  fmt::print("{}", runs_text(runs));
  if (!arguments.yes && !agreed(runs.size(), bytes)) {
    fmt::print("nothing was removed\n");
    return ExitCode::ok;
  }
  std::set<std::string> folders;
  size_t removed = 0;
  for (const ListedRun& run : runs) {
    if (is_in_use(run.directory)) {  // since it was listed
      fmt::print("{} is running: it stays\n", run.name);
      continue;
    }
    std::error_code error;
    fs::remove_all(run.directory, error);
    if (error) throw IoError("remove " + run.directory + ": " + error.message(), error.value());
    ++removed;
    folders.insert(fs::path(run.directory).parent_path().string());
  }
  for (const std::string& folder : folders) mend_latest(folder);
  fmt::print("removed {}\n", plural(removed, "run"));
  return ExitCode::ok;
}

}  // namespace stoker
