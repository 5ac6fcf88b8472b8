#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>

namespace stoker {

// Figures by the names that they have in summary.json; those that are absent are left out. Reads of
// both splits are one figure here ("loaders.samples_read"), and `steps` are those of the process. A
// value.
using NamedFigures = std::map<std::string, double>;

// A run's figures from the single events of its trace.json, without a look at its other files. A
// value.
struct TraceFigures {
  // Empty: the trace says that it holds everything: closed by its writer, the whole run long, no
  // event dropped or left out. Otherwise what is missing.
  std::string incomplete = {};
  int64_t events = 0;
  int64_t bad_lines = 0;  // half ones, of a process that was killed
  NamedFigures values = {};
};

// Line by line, as our sink writes it: a trace may be larger than the memory. Any thread.
// Error(ExitCode::environment), which names `path`, where it is no trace of ours.
TraceFigures trace_figures(std::istream& trace, const std::string& path);

}  // namespace stoker
