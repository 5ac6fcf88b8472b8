#include "app/tools/runs/run_list.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <functional>
#include <limits>

#include "app/tools/report/run_files.h"
#include "io/core/error.h"
#include "io/core/system/file_lock.h"
#include "io/core/text/json.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Deeper folders are somebody's data.
constexpr int kDeepest = 4;
// A run of another machine, whose lock cannot be seen from here, is at work if it wrote lately.
constexpr std::chrono::minutes kLately{10};

json json_of(const std::string& path) {
  try {
    const std::optional<std::string> text = read_own_file(path);
    return text ? try_parse_json(*text).value_or(nullptr) : json();
  } catch (const Error&) {
    return nullptr;
  }
}

std::string text_at(const json& tree, const char* path) {
  const json& value = member_at(tree, path);
  return value.is_string() ? value.get<std::string>() : "";
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

bool wrote_lately(const std::string& directory) {
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  return std::any_of(fs::directory_iterator(directory, error), fs::directory_iterator(),
                     [&](const fs::directory_entry& entry) {
                       return now - entry.last_write_time(error) < kLately;
                     });
}

// Of a run that is under way: the last whole window that it reported.
std::map<std::string, double> last_window(const std::string& path) {
  constexpr off_t kTail = 1 << 16;
  const std::string head = read_if_there(path, kTail).value_or("");
  const FileDescriptor file = open_regular("read", path, O_RDONLY);
  if (!file) return {};
  std::string tail(static_cast<size_t>(kTail), '\0');
  const off_t from = std::max<off_t>(0, ::lseek(file.get(), 0, SEEK_END) - kTail);
  const ssize_t count = ::pread(file.get(), tail.data(), tail.size(), from);
  tail.resize(count < 0 ? 0 : static_cast<size_t>(count));
  tail.resize(tail.rfind('\n') + 1);  // npos + 1 is 0
  const size_t begin = tail.size() < 2 ? tail.npos : tail.rfind('\n', tail.size() - 2);
  if (begin == tail.npos) return {};
  std::map<std::string, double> window;
  try {
    const Table table =
        Table::parse(head.substr(0, head.find('\n') + 1) + tail.substr(begin + 1), path);
    for (const std::string& name : table.names()) {
      if (const auto value = table.column(name).at(0)) window[name] = *value;
    }
  } catch (const Error&) {  // no table of ours
  }
  return window;
}

RunState state_of(const ListedRun& run, const json& environment) {
  if (is_in_use(run.directory)) return RunState::running;
  const std::string status = text_at(run.summary, "status");
  if (status == "completed") return RunState::completed;
  if (status == "stopped") return RunState::stopped;
  if (run.summary.is_object()) return RunState::failed;
  const std::string host = text_at(environment, "host");
  const bool elsewhere = !host.empty() && host != host_name();
  return elsewhere && wrote_lately(run.directory) ? RunState::running : RunState::killed;
}

// Where the status page of a run is, as its sink has told Prometheus.
std::string live_address(const std::string& directory) {
  const json targets = json_of(directory + "/targets.json");
  if (!targets.is_array() || targets.empty()) return "";
  const json& addresses = member_at(targets[0], "targets");
  if (!addresses.is_array() || addresses.empty() || !addresses[0].is_string()) return "";
  return addresses[0].get<std::string>();
}

ListedRun read_listed_run(const std::string& directory) {
  ListedRun run;
  run.directory = directory;
  run.summary = json_of(directory + "/summary.json");
  run.verdict = verdict_word(run.summary);
  run.started_unix_s = number_at(run.summary, "started_unix_s");
  run.state = state_of(run, json_of(directory + "/environment.json"));
  if (run.state == RunState::running) {
    run.window = last_window(directory + "/steps.csv");
    run.live = live_address(directory);
  }
  RunFiles files;
  files.directory = directory;
  try {
    files.config = read_if_there(files.path("config.yaml")).value_or("");
    run.config = config_leaves(files);
  } catch (const Error&) {  // somebody has changed it
  }
  return run;
}

RunState sweep_state(const std::string& directory, const json& results) {
  const FileDescriptor lock(::open((directory + "/.lock").c_str(), O_RDWR | O_CLOEXEC));
  if (lock && lock_file(lock, FileLock::exclusive) == EAGAIN) return RunState::running;
  if (!results.contains("finished")) return RunState::incomplete;
  const json& rows = results.at("rows");
  const bool good =
      std::ranges::all_of(rows, [](const json& row) { return row.at("exit_code") == 0; });
  return good ? RunState::completed : RunState::failed;
}

ListedRun read_listed_sweep(const std::string& directory) {
  ListedRun run;
  run.directory = directory;
  run.sweep = true;
  const json results = json_of(directory + "/results.json");
  try {
    run.state = sweep_state(directory, results);
    run.done = results.at("rows").size();
    run.planned = results.at("runs_planned").get<size_t>();
    for (const json& axis : results.at("axes")) {
      std::string values;
      for (const json& value : axis.at("values")) {
        values += (values.empty() ? "" : ",") + value.get<std::string>();
      }
      run.config[axis.at("key").get<std::string>()] = values;
    }
    for (const json& row : results.at("rows")) {
      const json& figures = row.at("figures");
      if (!figures.contains("images_per_s")) continue;
      const double rate = figures.at("images_per_s").get<double>();
      if (!run.range) run.range.emplace(rate, rate);
      run.range = {std::min(run.range->first, rate), std::max(run.range->second, rate)};
    }
    const json& findings = results.at("findings");
    const auto within = std::ranges::count_if(
        findings, [](const json& one) { return one.at("verdict") == "within"; });
    if (!findings.empty()) run.verdict = fmt::format("{} of {} within", within, findings.size());
  } catch (const json::exception&) {  // of another release: what was read so far
  }
  return run;
}

void collect(const std::string& directory, int depth, std::vector<ListedRun>& runs) {
  std::error_code error;
  // Other programs have files called results.json, too.
  const bool sweep = is_sweep(directory) && fs::exists(directory + "/sweep.yaml", error);
  if (sweep) runs.push_back(read_listed_sweep(directory));
  if (sweep && depth > 0) return;
  if (is_run(directory)) {
    runs.push_back(read_listed_run(directory));
  } else if (depth < kDeepest) {
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
      const bool hidden = entry.path().filename().string().starts_with('.');
      if (hidden || entry.is_symlink(error) || !entry.is_directory(error)) continue;
      collect(entry.path().string(), depth + 1, runs);
    }
  }
}

// How many of the runs have this value of an option, which some may lack.
bool is_rare(const std::vector<ListedRun>& runs, const std::string& key, const std::string& value) {
  const auto count = std::ranges::count_if(runs, [&](const ListedRun& run) {
    const auto found = run.config.find(key);
    return !run.sweep && found != run.config.end() && found->second == value;
  });
  const auto all = std::ranges::count(runs, false, &ListedRun::sweep);
  return 2 * count <= all;
}

void find_differences(std::vector<ListedRun>& runs) {
  std::vector<Leaves> trees;
  for (ListedRun& run : runs) {
    if (run.sweep) {
      run.differs = {run.config.begin(), run.config.end()};
    } else {
      trees.push_back(run.config);
    }
  }
  for (const Difference& difference : differences(trees)) {
    for (ListedRun& run : runs) {
      const auto found = run.config.find(difference.key);
      if (run.sweep || found == run.config.end()) continue;
      if (is_rare(runs, found->first, found->second)) run.differs.push_back(*found);
    }
  }
  for (ListedRun& run : runs) {
    std::stable_partition(run.differs.begin(), run.differs.end(),
                          [](const auto& one) { return one.first.ends_with(".type"); });
  }
}

// What a list is sorted by until something else is asked for. A run without a summary is known by
// when its configuration was written.
double begun(const ListedRun& run) {
  if (run.started_unix_s) return *run.started_unix_s;
  std::error_code error;
  const char* const file = run.sweep ? "/sweep.yaml" : "/config.yaml";
  const auto written = fs::last_write_time(run.directory + file, error);
  if (error) return 0;
  return std::chrono::duration<double>(std::chrono::file_clock::to_sys(written).time_since_epoch())
      .count();
}

}  // namespace

const char* to_string(RunState state) {
  constexpr std::array kNames{"running", "completed", "stopped", "failed", "killed", "incomplete"};
  return kNames[static_cast<size_t>(state)];
}

std::optional<double> ListedRun::figure(const std::string& path) const {
  if (summary.is_object()) return number_at(summary, path);
  const auto found = window.find(path);
  return found == window.end() ? std::nullopt : std::optional(found->second);
}

const std::vector<std::string>& listed_figures() {
  static const std::vector<std::string> kFigures{
      "images_per_s", "device.idle_share", "io_share", "wall_s", "images", "loss"};
  return kFigures;
}

std::vector<ListedRun> list_runs(const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    throw Error(ExitCode::environment,
                folder + " is no folder: name one with runs or sweeps in it, `stoker runs DIR`");
  }
  std::vector<ListedRun> runs;
  collect(fs::path(folder).lexically_normal().string(), 0, runs);
  for (ListedRun& run : runs) {
    run.name = fs::path(run.directory).lexically_relative(folder).string();
    if (run.name == ".") run.name = fs::absolute(run.directory).lexically_normal().filename();
    if (!run.started_unix_s) run.started_unix_s = begun(run);
  }
  std::ranges::sort(runs, [](const ListedRun& a, const ListedRun& b) {
    return std::pair(*a.started_unix_s, a.name) < std::pair(*b.started_unix_s, b.name);
  });
  find_differences(runs);
  return runs;
}

void sort_runs(std::vector<ListedRun>& runs, const std::string& by) {
  if (by == "started") return;  // as they are
  if (by == "name" || by == "state" || by == "verdict") {
    const auto text = [&by](const ListedRun& run) {
      return by == "name" ? run.name : by == "state" ? to_string(run.state) : run.verdict;
    };
    std::ranges::stable_sort(runs, {}, text);
    return;
  }
  const bool known =
      std::ranges::any_of(runs, [&by](const ListedRun& run) { return run.figure(by).has_value(); });
  if (!known && !runs.empty()) {
    throw Error(ExitCode::config,
                fmt::format("--sort: no run has a figure '{}': name, state, verdict, started, or a "
                            "figure of summary.json such as {}",
                            by, fmt::join(listed_figures(), ", ")));
  }
  std::ranges::stable_sort(runs, std::ranges::greater(), [&by](const ListedRun& run) {
    if (run.range && by == "images_per_s") return run.range->second;
    return run.figure(by).value_or(-std::numeric_limits<double>::infinity());
  });
}

}  // namespace stoker
