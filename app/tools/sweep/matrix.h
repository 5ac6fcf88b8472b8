#pragma once

#include <map>
#include <string>
#include <vector>

#include "io/core/config/config.h"

namespace stoker {

// A word of a command line in a sweep file, with its place there.
template <>
struct Field<Word> {
  static void read(const Section& at, Word& out, Limits);
  static Node dump(const Word& value) { return Field<std::string>::dump(value.text); }
  static std::string type() { return Field<std::string>::type(); }
};
// The words without their places.
std::vector<std::string> texts(const std::vector<Word>& words);

// The command whose base is a machine and not an experiment (app/tools/simulate).
inline constexpr const char* kSimulate = "simulate";
// "train", "launch", "simulate", "bench read", "bench storage TIER": what a sweep can run.
bool is_sweep_command(const std::string& text);

// One value of an axis and the settings that make it: overrides of the experiment ("a.b=c"),
// arguments of the command ("--a=b"), or another command than the sweep's. A value.
struct AxisValue {
  std::string name;
  std::vector<Word> settings;
};

// One axis and its values, in the order of the file. A value.
struct SweepAxis {
  std::string key;
  std::vector<AxisValue> values;

  // Its place, or npos.
  size_t find(const std::string& name) const;
  // The names of all values, in the order of the file.
  std::vector<std::string> names() const;
};

// The axes in the order of the file. In YAML an axis is a key of the experiment with a list of
// scalars, `ranks` with numbers of them (`stoker launch`), or a name with named variants, each a
// list of settings. A value; once it was read it has at least one axis, each at least one value,
// and no value twice.
struct SweepMatrix {
  std::vector<SweepAxis> axes;
  // Null: no such axis. Valid until the axes change.
  const SweepAxis* find(const std::string& key) const;
  std::vector<std::string> keys() const;
};
template <>
struct Field<SweepMatrix> {
  static void read(const Section& at, SweepMatrix& out, Limits);
  static Node dump(const SweepMatrix& value);
  static std::string type() { return "axes"; }
};

// The place of a cell: the name of a value for each axis' key.
using Coordinates = std::map<std::string, std::string>;

// Some cells: {tier: hdd, loader.workers: [1, 2]} are those that have one of the values on each
// axis that is named. Empty: all. A value; any thread.
struct CellPattern {
  // One axis and the values that match.
  struct Term {
    Word axis;
    std::vector<Word> names;
  };
  std::vector<Term> terms;
  Position at;

  bool empty() const { return terms.empty(); }
  bool matches(const Coordinates& cell) const;
  // Does it name exactly one value of this axis?
  bool fixes(const std::string& axis) const;
  // Error(ExitCode::config) for an axis or a value that the matrix does not have.
  void check(const SweepMatrix& matrix, const Section& section) const;
  // "tier=hdd loader.workers=1|2"
  std::string text() const;
};
template <>
struct Field<CellPattern> {
  static void read(const Section& at, CellPattern& out, Limits);
  static Node dump(const CellPattern& value);
  static std::string type() { return "axes with a value or a list of values each"; }
};

// One axis, or a list of axes: in YAML a name, or a list of them. A value.
struct AxisNames {
  std::vector<Word> names;
  bool has(const std::string& name) const;
};
template <>
struct Field<AxisNames> {
  static void read(const Section& at, AxisNames& out, Limits);
  static Node dump(const AxisNames& value);
  static std::string type() { return "axis or list of axes"; }
};

// "tier=hdd loader.workers=4", in the order of the axes. The cell must have a value for each of
// them.
std::string text(const SweepMatrix& matrix, const Coordinates& cell);

}  // namespace stoker
