#include "app/tools/tune/runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "io/core/error.h"
#include "io/core/system/file.h"
#include "io/core/text/json.h"

namespace stoker {
namespace {

// The last line that a run has said.
std::string last_line(const std::string& path) {
  std::istringstream log(read_if_there(path).value_or(""));
  std::string line, last;
  while (std::getline(log, line)) {
    if (!line.empty()) last = line;
  }
  return last;
}

}  // namespace

TuneRuns::TuneRuns(std::string config, std::vector<std::string> overrides, double seconds,
                   const StopSignal& stop)
    : config_(std::move(config)),
      overrides_(std::move(overrides)),
      seconds_(seconds),
      stop_(stop) {}

double TuneRuns::spent_s() const { return seconds(Clock::now() - begin_); }

bool TuneRuns::time_for(double seconds) const {
  return spent_s() + beside_s_ + seconds <= seconds_ && !stop_.requested();
}

ShortRun TuneRuns::run(const std::vector<std::string>& overrides, double seconds) {
  ShortRunOptions options;
  options.config = config_;
  options.overrides = overrides_;
  options.overrides.insert(options.overrides.end(), overrides.begin(), overrides.end());
  for (const std::string& fixed :
       {std::string("checkpoint={type: none}"), std::string("evaluation={enabled: false}"),
        std::string("training.epochs=1000000"), std::string("training.max_steps=1000000000000"),
        fmt::format("metrics={{every_steps: {}, sinks: [{{type: csv}}]}}", every_steps_)}) {
    options.overrides.push_back(fixed);
  }
  options.name = fmt::format("run-{}", ++count_);
  options.directory = directory_.path() + "/" + options.name;
  options.log = directory_.path() + "/" + options.name + ".txt";
  make_directories(options.directory);
  options.seconds = beside_s_ + seconds;
  options.stop_requested = [this] { return stop_.requested(); };
  try {
    ShortRun run = short_run(options);
    const double trained = number_at(run.summary, "wall_s").value_or(0);
    // The first one starts with cold files; the others are like one another.
    const double beside = std::clamp(run.took_s - trained, 0.1, 20.0);
    beside_s_ = count_ == 1 ? beside : std::max(0.7 * beside_s_, beside);
    return run;
  } catch (const Error& error) {
    if (stop_.requested()) throw Error(stop_.exit_code(), "tune: stopped by a signal");
    const std::string said = last_line(options.log);
    if (said.empty()) throw;
    throw Error(error.code(), said);
  }
}

}  // namespace stoker
