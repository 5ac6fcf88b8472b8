#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "app/tools/sweep/plan.h"
#include "app/tools/sweep/results.h"

namespace stoker {

// A sweep of four cells, and what tests make of it.
inline constexpr const char* kSweep = R"(
name: trial
base: base.yaml
set: [training.max_steps=5]
matrix:
  loader.workers: [1, 2]
  tier:
    hdd: [storage.data.profile=hdd]
    ssd: [storage.data.profile=ssd, --page-cache=cold]
repeat: 2
)";

inline SweepOptions options_of(const std::string& text,
                               const std::vector<std::string>& overrides = {}) {
  const std::string path = ::testing::TempDir() + "sweep.yaml";
  std::ofstream(path) << text;
  return read_sweep(path, overrides);
}

// The hash is the text of the overrides.
inline CellExperiment joined(const SweepCell& cell) {
  std::string text;
  for (const Word& one : cell.overrides) text += one.text + " ";
  return {text, {}};
}

inline SweepPlan plan_of(const SweepOptions& options) { return plan_sweep(options, joined); }

// A row of a cell of kSweep.
inline SweepRow row(const SweepPlan& plan, size_t cell, int64_t repeat, Figures figures) {
  SweepRow made;
  made.cell = plan.cells[cell].at;
  made.hash = plan.cells[cell].hash;
  made.repeat = repeat;
  made.seconds = 10.0 * static_cast<double>(cell + 1);
  made.figures = std::move(figures);
  return made;
}

}  // namespace stoker
