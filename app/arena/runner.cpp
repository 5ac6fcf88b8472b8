#include "app/arena/runner.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "app/arena/figures.h"
#include "app/base/child_process.h"
#include "io/core/file.h"
#include "io/metrics/clock.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr double kKillAfter_s = 10;

std::string last_line(const std::string& text) {
  const size_t end = text.find_last_not_of(" \r\n");
  if (end == std::string::npos) return "";
  const size_t before = text.rfind('\n', end);
  const size_t begin = before == std::string::npos ? 0 : before + 1;
  return text.substr(begin, end - begin + 1);
}

// The last line that is an object; the others are what a library wanted to say.
json last_object(const std::string& text) {
  for (size_t end = text.size(); end > 0;) {
    const size_t before = text.rfind('\n', end - 1);
    const size_t begin = before == std::string::npos ? 0 : before + 1;
    json line = json::parse(text.substr(begin, end - begin), nullptr, false);
    if (line.is_object()) return line;
    end = begin == 0 ? 0 : begin - 1;
  }
  return nullptr;
}

double load_now() {
  double load = 0;
  return ::getloadavg(&load, 1) == 1 ? load : 0;
}

}  // namespace

ArenaRunner::ArenaRunner(const ArenaOptions& options, std::string directory, const StopSignal& stop,
                         std::function<void(const std::string&)> say)
    : options_(options), directory_(std::move(directory)), stop_(stop), say_(std::move(say)) {
  for (const char* folder : {"/logs", "/pixels"}) make_directories(directory_ + folder);
}

ArenaRow ArenaRunner::run_one(const ArenaRun& run, const std::string& log,
                              bool& interrupted) const {
  const ArenaEntry& entry = options_.entries[run.entry];
  ArenaRow row{entry.name, run.workers, run.round, run.hash, 0, "", 0, load_now(), nullptr};
  fs::remove(log);
  ChildProgram shell;
  shell.path = "/bin/sh";
  shell.words = {"sh", "-c", run.command};
  shell.kill_after_s = kKillAfter_s;
  const TimePoint begun = Clock::now();
  bool late = false;
  const ChildResult child = run_program(shell, log, [&] {
    late = late || seconds(Clock::now() - begun) > options_.timeout_s;
    return late || stop_.requested();
  });
  row.seconds = seconds(Clock::now() - begun);
  row.exit_code = child.exit_code;
  row.output = last_object(child.output);
  interrupted = stop_.requested();
  if (late) {
    row.error = fmt::format("took longer than {} s", options_.timeout_s);
  } else if (child.exit_code != 0) {
    const std::string said = last_line(read_if_there(log).value_or(""));
    row.error =
        fmt::format("exit code {}: {}", child.exit_code, said.empty() ? "said nothing" : said);
  }
  return row;
}

bool ArenaRunner::run(const std::vector<ArenaRun>& plan, ArenaResults& results) const {
  for (size_t i = 0; i < plan.size(); ++i) {
    const ArenaRun& run = plan[i];
    const ArenaEntry& entry = options_.entries[run.entry];
    if (!is_there(options_, entry) || results.find(run, entry) != nullptr) continue;
    if (stop_.requested()) return false;
    bool interrupted = false;
    const std::string log =
        fmt::format("{}/logs/{:03}-{}-{}.log", directory_, run.entry, run.workers, run.round);
    ArenaRow row = run_one(run, log, interrupted);
    if (interrupted) return false;
    if (row.ok() && !images_per_s(row.output)) row.error = "it printed no JSON with images_per_s";
    results.add(row);
    const std::string outcome = row.ok() ? fmt::format("{:.0f} images/s", *images_per_s(row.output))
                                         : "FAILED, " + row.error;
    say_(fmt::format("[{}/{}] {} workers={} round {}: {} ({:.0f} s)", i + 1, plan.size(),
                     entry.name, run.workers, run.round, outcome, row.seconds));
  }
  return true;
}

bool ArenaRunner::run_pixels(const std::vector<ArenaRun>& plan,
                             std::vector<ArenaRow>& failed) const {
  for (const ArenaRun& run : plan) {
    const ArenaEntry& entry = options_.entries[run.entry];
    if (!is_there(options_, entry)) continue;
    if (stop_.requested()) return false;
    fs::remove(pixel_file(directory_, entry));
    bool interrupted = false;
    ArenaRow row =
        run_one(run, fmt::format("{}/logs/{:03}-pixels.log", directory_, run.entry), interrupted);
    if (interrupted) return false;
    if (row.ok() && !fs::exists(pixel_file(directory_, entry))) row.error = "it wrote no pixels";
    say_(
        fmt::format("pixels of {}: {}", entry.name, row.ok() ? "written" : "FAILED, " + row.error));
    if (!row.ok()) failed.push_back(row);
  }
  return true;
}

}  // namespace stoker
