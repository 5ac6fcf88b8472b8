#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/tools/sweep/sweep_options.h"

namespace stoker {

// One combination of the axes' values, and how it is run. A value.
struct SweepCell {
  Coordinates at;
  std::vector<Word> overrides;      // those of the sweep, then those of the axes in order
  std::vector<Word> arguments;      // arguments of the command, replaced likewise
  Word command;                     // the sweep's, or the one that an axis names instead
  std::string hash;                 // equal: the same experiment is run in the same way
  std::vector<std::string> mounts;  // those of SweepOptions::mounts that it reads
};

// One run: a cell and which repetition of it, from 0.
struct SweepRun {
  size_t cell = 0;
  int64_t repeat = 0;
};

// What a sweep does. A value; equal options give an equal plan, but for hashes of experiments that
// have changed.
struct SweepPlan {
  std::vector<SweepCell> cells;  // the first axis varies slowest
  std::vector<SweepRun> runs;    // in the order they are run
  size_t whole = 0;              // how many runs the sweep has, whatever part of it is run
};

// Leaves the runs of those cells that match all of "AXIS=VALUE[,VALUE]"; the cells stay, as the
// results are of the whole sweep. Error(ExitCode::config) for an axis or a value that the matrix
// does not have, or where no cell is left.
void leave_only(SweepPlan& plan, const SweepMatrix& matrix, const std::vector<std::string>& only);

// "bench read CONFIG": the cell's command with the experiment where it belongs. Overrides and
// arguments come after it.
std::vector<std::string> command_words(const SweepCell& cell, const std::string& config);

// The commands of all cells, each once, in the order of the cells: "bench storage data, bench
// read".
std::string commands_text(const SweepPlan& plan);

// What a plan has to know of a cell's experiment. A value.
struct CellExperiment {
  std::string hash;  // that of its resolved configuration and of what it reads
  std::vector<std::string> mounts;
};
// Reads the experiment of a cell. Throws Error where it is wrong.
using ReadExperiment = std::function<CellExperiment(const SweepCell& cell)>;

// All cells, every one read and checked, and the order of their runs. Runs nothing.
// Error(ExitCode::config) is that of the experiment, and names the cell; or it says that nothing is
// left to run, or that an exclusion excludes nothing.
SweepPlan plan_sweep(const SweepOptions& options, const ReadExperiment& read_experiment);

}  // namespace stoker
