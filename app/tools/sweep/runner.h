#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>

#include "app/process/stop_signal.h"
#include "app/tools/sweep/directory.h"
#include "app/tools/sweep/mounts.h"
#include "io/core/error.h"
#include "io/core/system/child_process.h"

namespace stoker {

// Runs the cells of a plan as processes of this program, one at a time, and writes the results
// after each. A cell that fails is part of the results. One thread. What it says goes to stderr, a
// line per run.
class SweepRunner {
 public:
  // All of them must outlive it.
  SweepRunner(const SweepOptions& options, const SweepPlan& plan, const SweepDirectory& directory,
              SweepMounts& mounts, const StopSignal& stop)
      : options_(options), plan_(plan), directory_(directory), mounts_(mounts), stop_(stop) {}

  // Makes what SweepOptions::prepare names and is absent. Error with the command's exit code.
  void prepare() const;
  // Everything that has not been run well yet. A run that ended well as an earlier sweep was killed
  // is taken as it is. What the runs read is mounted before the first and until after the last.
  // False: a signal ended it; the run that it met does not count.
  bool run(SweepResults& results, Scratch& scratch) const;

 private:
  SweepRow run_cell(const SweepRun& run, const std::string& log, bool& interrupted) const;
  // Writes and reads SweepDirectory::kUnderWay.
  void begin(const SweepRun& run) const;
  void take_over(SweepResults& results) const;
  // Names in the folder of the run directories.
  std::set<std::string> run_directories() const;
  // Takes what the program printed, or what lies in its run directory.
  void take_output(const nlohmann::json& output, const SweepCell& cell, SweepRow& row) const;
  // Mounts what the runs that are left read.
  void mount(const SweepResults& results) const;
  std::vector<std::string> arguments(const SweepCell& cell) const;
  std::string log_name(const SweepRun& run) const;
  void report(size_t number, const SweepRow& row, const SweepResults& results) const;

  const SweepOptions& options_;
  const SweepPlan& plan_;
  const SweepDirectory& directory_;
  SweepMounts& mounts_;
  const StopSignal& stop_;
};

// The exit code of a process as one of ours. It is `bug` if it is not a code of an error that a
// user can correct.
ExitCode known_code(int exit_code);

// Seconds until all runs of the plan are done: for each the mean of the finished runs of its cell,
// else of all. Negative where nothing has finished.
double seconds_left(const SweepPlan& plan, const SweepResults& results);

}  // namespace stoker
