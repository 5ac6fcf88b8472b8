#include "app/tools/sweep/runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "app/base/progress_line.h"
#include "io/core/error.h"
#include "io/core/system/neighbours.h"
#include "io/core/text/json.h"
#include "io/metrics/clock.h"

namespace stoker {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// The mean duration of successful runs.
double mean_seconds(const SweepResults& results, const Coordinates* cell) {
  double sum = 0;
  int64_t count = 0;
  for (const SweepRow& row : results.rows) {
    if (!row.ok() || (cell != nullptr && row.cell != *cell)) continue;
    sum += row.seconds;
    ++count;
  }
  return count > 0 ? sum / static_cast<double>(count) : -1;
}

std::string duration_text(double s) {
  if (s < 90) return fmt::format("{:.0f} s", s);
  if (s < 5400) return fmt::format("{:.0f} min", s / 60);
  return fmt::format("{:.1f} h", s / 3600);
}

// What the figures hold for, without the figures.
json conditions_of(const json& output) {
  // The conditions of a run. A benchmark has those of its tier in a list, and again below `tiers`.
  json conditions = output.value("conditions", json::object());
  if (!conditions.is_object()) conditions = json::object();
  for (const char* of_benchmarks : {"page_cache", "emulated"}) {
    if (output.contains(of_benchmarks) && !output[of_benchmarks].is_object()) {
      conditions[of_benchmarks] = output[of_benchmarks];
    }
  }
  const auto copy = [&](const json& from, json& to, std::initializer_list<const char*> keys) {
    for (const char* key : keys) {
      if (from.is_object() && from.contains(key)) to[key] = from[key];
    }
  };
  const json device = output.value("device", json());
  if (device.is_string()) conditions["device"] = {{"name", device}};
  if (device.is_object()) {
    copy(device, conditions["device"], {"name", "emulated", "timing_method"});
  }
  const auto add_tier = [&](const std::string& name, const json& tier) {
    copy(tier, conditions["tiers"][name],
         {"type", "emulated", "conditions", "overruns", "overrun_s"});
  };
  // By name of a run, a list of a benchmark.
  const json tiers = output.value("tiers", json());
  for (const auto& [name, tier] : tiers.items()) {
    add_tier(tiers.is_array() ? tier.value("name", "unknown") : name, tier);
  }
  return conditions;
}

// Of what a preparation makes: it is there, and locked, while that is not whole. So two sweeps
// never make, use or remove the same at once, and what a killed one left is known.
class Preparing {
 public:
  // Waits while another sweep makes it. Empty: it is whole, or the wait was given up.
  static std::optional<Preparing> begin(const std::string& made, const StopSignal& stop) {
    const std::string mark = made + ".preparing";
    bool told = false;
    while (!stop.requested()) {
      if (fs::exists(made) && !fs::exists(mark)) return {};
      make_directories(fs::absolute(mark).parent_path().string());
      FileDescriptor file = open_file("lock", mark, O_RDWR | O_CREAT | O_NOFOLLOW);
      const int taken = lock_file(file, FileLock::exclusive);
      std::error_code error;
      const bool there = fs::exists(mark, error) && is_same(mark, file);
      if (taken == EAGAIN) {
        if (!std::exchange(told, true))
          print_note(made + ": waits for another sweep that makes it");
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      } else if (there) {
        return Preparing(mark, std::move(file));
      }
    }
    return {};
  }
  void end() const {
    std::error_code ignored;
    fs::remove(mark_, ignored);
  }

 private:
  Preparing(std::string mark, FileDescriptor file)
      : mark_(std::move(mark)), file_(std::move(file)) {}
  static bool is_same(const std::string& path, const FileDescriptor& file) {
    struct stat named {
    }, held{};
    return ::stat(path.c_str(), &named) == 0 && ::fstat(file.get(), &held) == 0 &&
           named.st_ino == held.st_ino;
  }

  std::string mark_;
  FileDescriptor file_;
};

// What a preparation has begun and not finished: it would be taken for whole.
void remove_half(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) throw IoError("remove " + path + ": " + error.message(), error.value());
}

}  // namespace

ExitCode known_code(int exit_code) {
  for (const ExitCode code : {ExitCode::config, ExitCode::environment, ExitCode::data,
                              ExitCode::storage, ExitCode::device, ExitCode::threshold}) {
    if (exit_code == static_cast<int>(code)) return code;
  }
  return ExitCode::bug;
}

double seconds_left(const SweepPlan& plan, const SweepResults& results) {
  const double overall = mean_seconds(results, nullptr);
  if (overall < 0) return -1;
  double left = 0;
  for (const SweepRun& run : plan.runs) {
    const Coordinates& cell = plan.cells[run.cell].at;
    if (results.find(cell, run.repeat) != nullptr) continue;
    const double own = mean_seconds(results, &cell);
    left += own < 0 ? overall : own;
  }
  return left;
}

void SweepRunner::prepare() const {
  for (const SweepPreparation& step : options_.prepare) {
    const std::string& made = step.creates.value;
    const auto preparing = Preparing::begin(made, stop_);
    if (stop_.requested()) return;
    if (!preparing) continue;
    remove_half(made);
    const std::vector<std::string> words = words_of(step);
    const std::string command = fmt::format("stoker {}", fmt::join(words, " "));
    print_note(fmt::format("{} is not there yet: {}", made, command));
    const std::string log = directory_.path("logs/prepare.log");
    const ChildResult result = run_child(words, log, [this] { return stop_.requested(); });
    if (result.exit_code != 0) remove_half(made);
    preparing->end();
    if (stop_.requested()) return;
    if (result.exit_code == 0 && fs::exists(made)) continue;
    throw Error(result.exit_code == 0 ? ExitCode::config : known_code(result.exit_code),
                fmt::format("prepare: {} made no {} (exit code {}): {}", command, made,
                            result.exit_code, last_line(log)));
  }
}

std::vector<std::string> SweepRunner::arguments(const SweepCell& cell) const {
  std::vector<std::string> words = command_words(cell, directory_.base());
  for (const Word& word : cell.overrides) words.push_back(word.text);
  if (cell.command.text != kSimulate) words.push_back("run.dir=" + directory_.path("runs"));
  for (const Word& word : cell.arguments) words.push_back(word.text);
  words.push_back("--json");
  if (cell.command.text == "train" || cell.command.text == "launch") words.push_back("--quiet");
  return words;
}

std::string SweepRunner::log_name(const SweepRun& run) const {
  std::string name = text(options_.matrix, plan_.cells[run.cell].at);
  for (char& c : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '=' || c == '.' ||
                       c == '-' || c == '_';
    if (!plain) c = c == ' ' ? ',' : '_';
  }
  return fmt::format("logs/{:03}-{}-{}.log", run.cell, name.substr(0, 180), run.repeat);
}

SweepRow SweepRunner::run_cell(const SweepRun& run, const std::string& log,
                               bool& interrupted) const {
  const SweepCell& cell = plan_.cells[run.cell];
  std::error_code ignored;
  std::filesystem::remove(log, ignored);
  const TimePoint begun = Clock::now();
  const ChildResult child = run_child(arguments(cell), log, [this] { return stop_.requested(); });
  SweepRow row{cell.at, run.repeat, cell.hash, child.exit_code, "", "", 0, {}, {}};
  row.seconds = seconds(Clock::now() - begun);
  interrupted = stop_.requested() && child.exit_code != 0;
  const json output = try_parse_json(child.output).value_or(nullptr);
  take_output(output, cell, row);
  if (child.exit_code != 0) row.error = last_line(log);
  if (child.exit_code == 0 && !output.is_structured()) row.error = "it printed no JSON";
  return row;
}

void SweepRunner::take_output(const json& output, const SweepCell& cell, SweepRow& row) const {
  if (output.is_array()) row.figures = flatten({{"results", output}}, options_.figures);
  if (!output.is_object()) return;
  row.figures = flatten(output, options_.figures);
  row.directory = directory_.relative(output.value("run_directory", ""));
  row.conditions = conditions_of(output);
  // Where the run saw a plain folder.
  for (const std::string& name : cell.mounts) {
    const Component<Storage>& tier = options_.mounts.at(name).tier;
    row.conditions["tiers"][name + " (mounted)"] = {{"type", tier.type()},
                                                    {"emulated", tier.info().emulated}};
  }
}

void SweepRunner::mount(const SweepResults& results) const {
  std::set<std::string> names;
  for (const SweepRun& run : plan_.runs) {
    const SweepCell& cell = plan_.cells[run.cell];
    if (results.find(cell.at, run.repeat) == nullptr) {
      names.insert(cell.mounts.begin(), cell.mounts.end());
    }
  }
  mounts_.begin({names.begin(), names.end()}, directory_, [this] { return stop_.requested(); });
}

std::set<std::string> SweepRunner::run_directories() const {
  std::set<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory_.path("runs"), error)) {
    const bool latest = entry.is_symlink(error);
    if (!latest) names.insert(entry.path().filename().string());
  }
  return names;
}

void SweepRunner::begin(const SweepRun& run) const {
  const SweepCell& cell = plan_.cells[run.cell];
  const json text = {{"cell", cell.at},
                     {"repeat", run.repeat},
                     {"hash", cell.hash},
                     {"earlier", run_directories()}};
  directory_.write_file(SweepDirectory::kUnderWay, json_text(text, 1) + "\n");
}

void SweepRunner::take_over(SweepResults& results) const {
  const auto text = read_if_there(directory_.path(SweepDirectory::kUnderWay));
  const json begun = text ? try_parse_json(*text).value_or(nullptr) : json();
  if (!begun.is_object()) return;
  for (size_t i = 0; i < plan_.runs.size(); ++i) {
    const SweepRun& run = plan_.runs[i];
    const SweepCell& cell = plan_.cells[run.cell];
    const bool same = begun.value("cell", json()) == json(cell.at) &&
                      begun.value("repeat", json()) == json(run.repeat) &&
                      begun.value("hash", json()) == json(cell.hash);
    if (!same || results.find(cell.at, run.repeat) != nullptr) continue;
    for (const std::string& name : run_directories()) {
      const json earlier = begun.value("earlier", json::array());
      if (std::ranges::find(earlier, json(name)) != earlier.end()) continue;
      const auto summary = read_if_there(directory_.path("runs/" + name + "/summary.json"));
      const json output = summary ? try_parse_json(*summary).value_or(nullptr) : json();
      const bool whole = output.is_object() && output.value("status", json()) == "completed" &&
                         output.value("exit_code", json()) == 0;
      if (!whole) continue;
      SweepRow row{cell.at, run.repeat, cell.hash, 0, "", "", 0, {}, {}};
      take_output(output, cell, row);
      row.seconds = output.value("elapsed_s", 0.0);
      results.put(row);
      directory_.write(plan_, results);
      report(i + 1, row, results);
      return;
    }
  }
}

bool SweepRunner::run(SweepResults& results, Scratch& scratch) const {
  std::erase_if(results.rows, [](const SweepRow& row) { return !row.ok(); });
  take_over(results);
  mount(results);
  for (size_t i = 0; i < plan_.runs.size(); ++i) {
    const SweepRun& run = plan_.runs[i];
    if (results.find(plan_.cells[run.cell].at, run.repeat) != nullptr) continue;
    if (stop_.requested()) return false;
    mounts_.check(plan_.cells[run.cell].mounts);
    scratch.clear();
    begin(run);
    bool interrupted = false;
    SweepRow row = run_cell(run, directory_.path(log_name(run)), interrupted);
    if (interrupted) return false;
    results.put(row);
    directory_.write(plan_, results);
    report(i + 1, row, results);
  }
  mounts_.end();
  std::error_code ignored;  // the results have all of it
  std::filesystem::remove(directory_.path(SweepDirectory::kUnderWay), ignored);
  return true;
}

void SweepRunner::report(size_t number, const SweepRow& row, const SweepResults& results) const {
  std::string line = fmt::format("[{}/{}] {} repeat {}:", number, plan_.runs.size(),
                                 text(options_.matrix, row.cell), row.repeat);
  if (!row.ok()) {
    line += fmt::format(" FAILED with exit code {}: {}", row.exit_code, row.error);
  } else {
    std::vector<std::string> names = main_figures(options_);
    if (std::ranges::find(names, "exposed_io_share") == names.end()) {
      names.emplace_back("exposed_io_share");
    }
    size_t shown = 0;
    for (const std::string& name : names) {
      const auto value = row.figures.find(name);
      if (value == row.figures.end() || ++shown > 3) continue;
      line += (shown > 1 ? "  " : " ") + figure_text(name, value->second);
    }
  }
  const double left = seconds_left(plan_, results);
  if (left > 0) line += "   ETA " + duration_text(left);
  print_note(line);
}

}  // namespace stoker
