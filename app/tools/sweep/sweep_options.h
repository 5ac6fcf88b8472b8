#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/tools/sweep/matrix.h"
#include "io/core/config/config.h"
#include "io/core/config/registry.h"
#include "io/storage/storage.h"

namespace stoker {

// What is run in every cell: an experiment file, or the experiment itself. A value. In YAML a path
// or a mapping; one of the two is there after it was read. A relative path is one from the
// directory of the sweep file, but from the current one where an override gives it.
struct SweepBase {
  std::string path;  // as resolved against the sweep file; empty: `experiment` holds it
  Node experiment;
};
template <>
struct Field<SweepBase> {
  static void read(const Section& at, SweepBase& out, Limits);
  static Node dump(const SweepBase& value);
  static std::string type() { return "path of an experiment, or the experiment"; }
};

// Something that the runs need and a command of this program makes. A value. Where the command is
// interrupted or fails, what it had made is removed again.
struct SweepPreparation {
  Path creates;
  std::vector<Word> run;
  template <class V>
  void visit(V& v) {
    v.required("creates", creates,
               "Path of what the command makes. If it exists, the command is not run.");
    v.required("run", run,
               "Arguments of stoker, for example [dataset, synth, data/x]. ${NAME} is replaced as "
               "in paths.");
  }
};
// Its command, with ${NAME} and ${NAME:-default} replaced in each word as in a path. Error(config)
// at the word whose variable is not set.
std::vector<std::string> words_of(const SweepPreparation& step);

// A tier that cells read as a file system: `stoker mount` makes one of it, at a path that
// ${STOKER_MOUNT_<name>} stands for. A value.
struct SweepMount {
  Component<Storage> tier;
  std::vector<Word> arguments;
  template <class V>
  void visit(V& v) {
    v.required("tier", tier, "The tier, as it stands under `storage` of an experiment.");
    v("arguments", arguments, "Arguments of stoker mount, for example [--mode=drop].");
  }
};

// [x, y]: x is the name of an axis' value, y a figure in the unit of the plot's. A value.
struct PublishedPoint {
  std::string x;
  double y = 0;
};
template <>
struct Field<PublishedPoint> {
  static void read(const Section& at, PublishedPoint& out, Limits);
  static Node dump(const PublishedPoint& value);
  static std::string type() { return "[x, y]"; }
};

// What others measured, for the same axes. A value. It is drawn beside our series and judged by
// nobody: for that there are findings.
struct PublishedSeries {
  std::string series;
  std::vector<PublishedPoint> points;
  std::string mark;
  std::string source;
  template <class V>
  void visit(V& v) {
    v("series", series, "Name of our series that it is drawn beside.");
    v.required("points", points, "Points of the series, each as [x, y].");
    v("mark", mark, "How the figures are known. V: verbatim. S: second-hand. M: from memory.");
    v.required("source", source, "Where it was published.");
  }
};

// The scale of a plot's y.
enum class PlotScale { linear, log };
EnumNames<PlotScale> enum_names(PlotScale);

// The x of a plot whose y is a column of timeline.csv: second after second of the first run of each
// cell.
inline constexpr const char* kTime = "time";

// One drawing: a figure over an axis, a line for each value of other axes. A value. Every axis of
// more than one value must be x, in `series`, or fixed by `where`: SweepOptions::check() sees to
// it.
struct PlotOptions {
  std::string title;
  std::string x;
  std::string y;
  AxisNames series;
  std::vector<std::string> stack;
  CellPattern where;
  CellPattern relative_to;
  PlotScale scale = PlotScale::linear;
  std::string note;
  std::vector<PublishedSeries> published;
  template <class V>
  void visit(V& v) {
    v.required("title", title, "Title above the plot.");
    v.required("x", x, "The horizontal axis: an axis of the matrix, or time.");
    v.required("y", y, "The figure to draw. If x is time, a column of timeline.csv.");
    v("series", series, "An axis or a list of axes. Each of their values has a line.");
    v("stack", stack,
      "Parts of y that are drawn on top of each other, instead of series. The figure of a part is "
      "y.PART.");
    v("where", where, "Draw only cells with these values.");
    v("relative_to", relative_to, "Divide y by that of the cell with these values.");
    v("scale", scale, "Scale of y: linear or log.");
    v("note", note,
      "A note for readers of the plot. {FIGURE} in it becomes the values of that figure in these "
      "cells.");
    v("published", published,
      "What others measured, to draw beside ours. In a stack the points of a part are its share of "
      "the whole.");
  }
};

// How our figure of a statement came about.
//   measured    it is what the program did in real time: order, waiting, overlap, decoding
//   calculated  it follows from figures that were put in, by the arithmetic of emulated tiers and
//               devices
//   put_in      it was itself put in, and shows that the emulation does what it was told
//   simulated   `stoker simulate` predicted it
enum class FigureOrigin { measured, calculated, put_in, simulated };
EnumNames<FigureOrigin> enum_names(FigureOrigin);

// A statement in figures about medians over the repetitions:
//   ratio   value(of) / value(over)
//   value   value(of)
//   spread  largest / smallest - 1 of value over the cells that match `among`
// With `less` the value of that cell is subtracted first, for the cost of something in comparison
// with nothing.
//
// It has to be able to fail: with `published` and its tolerance, with at_most, with at_least, or
// with several of them, all of which must hold. A value.
struct FindingOptions {
  std::string name;
  std::string value;
  CellPattern of;
  CellPattern over;
  CellPattern less;
  CellPattern among;
  std::optional<double> published;
  std::optional<Share> tolerance;
  std::optional<double> at_most;
  std::optional<double> at_least;
  std::string fitted;
  std::optional<FigureOrigin> how;
  std::string mark;
  std::string source;
  std::string note;
  template <class V>
  void visit(V& v) {
    v.required("name", name, "The statement in words.");
    v.required("value", value, "The figure that the statement is about.");
    v("of", of, "The cell that the statement is about.");
    v("over", over, "A second cell. The statement is about the ratio of `of` to this one.");
    v("less", less, "A cell whose value is first subtracted from those of the others.");
    v("among", among,
      "Cells to compare. The statement is about their largest value over their smallest, minus 1.");
    v("published", published, "The value that others measured.");
    v("tolerance", tolerance, "How far our value may be from the published one, as a share of it.");
    v("at_most", at_most, "The largest value for which the statement holds.");
    v("at_least", at_least, "The smallest value for which the statement holds.");
    v("fitted", fitted,
      "Name of the setting that was chosen so that the statement holds. The statement then does "
      "not count as a finding.");
    v("how", how,
      "How our figure came about: measured, calculated from what was put in, put_in, or simulated. "
      "If absent: put_in with `fitted`, simulated with the command simulate, else measured.");
    v("mark", mark, "How the figures are known. V: verbatim. S: second-hand. M: from memory.");
    v("source", source, "Where it was published.");
    v("note", note, "A note for readers of the finding, with {FIGURE} as in those of plots.");
  }
  // "ratio", "value" or "spread".
  std::string kind() const;
  // Error(ExitCode::config) where it says nothing, two things, or nothing that can fail.
  void check(const Section& section) const;
};

// The short form of a sweep (`--short`): enough to see that all of it works, and too little to
// judge. A value.
struct ShortForm {
  std::vector<Word> set;
  std::vector<std::string> only;
  int64_t repeat = 1;
  template <class V>
  void visit(V& v) {
    v("set", set, "Further overrides for every run, such as training.max_steps=8.");
    v("only", only, "The part of the cells, each as AXIS=VALUE[,VALUE]. If absent, all.");
    v("repeat", repeat, "Number of runs of each cell.", Limits{1, 1000});
  }
};

// A sweep as its YAML file says it. A value; reading it touches no data and no experiment. The runs
// are the cells of the matrix without the excluded ones, each `repeat` times; settings of an axis
// come after `set` and so replace it.
struct SweepOptions {
  std::string name;
  SweepBase base;
  Word command{"train"};
  std::vector<Word> arguments;
  std::vector<Word> set;
  std::vector<SweepPreparation> prepare;
  std::map<std::string, SweepMount> mounts;
  SweepMatrix matrix;
  int64_t repeat = 1;
  bool drop_first = false;
  bool interleave = true;
  std::vector<CellPattern> exclude;
  std::map<std::string, std::string> figures;
  std::vector<PlotOptions> plots;
  std::vector<FindingOptions> findings;
  ShortForm short_form;
  // It was shortened: its findings are not judged. Not in the file.
  bool shortened = false;
  template <class V>
  void visit(V& v) {
    v.required("name", name, "Name of the sweep and of its directory.");
    v.required("base", base,
               "The experiment: its path relative to the sweep file, or its contents.");
    v("command", command, "The command to run: train, launch, or bench with its sub-command.");
    v("arguments", arguments, "Arguments of that command, for example [--page-cache=cold].");
    v("set", set, "Overrides for every run.");
    v("prepare", prepare, "What has to be there before the first run, and how to make it.");
    v("mounts", mounts,
      "Tiers that are mounted for the cells that read them, by name. A cell reads one as the "
      "folder "
      "${STOKER_MOUNT_NAME}.");
    v.required("matrix", matrix, "The axes. Each is a key with values, or a name with variants.");
    v("repeat", repeat, "Number of runs of each cell.", Limits{1, 1000});
    v("drop_first", drop_first, "Leave the first repetition out of all statistics.");
    v("interleave", interleave,
      "Run one repetition of all cells, then the next. false: all repetitions of a cell before the "
      "next cell.");
    v("exclude", exclude, "Cells that are not run.");
    v("figures", figures,
      "Names for values in the JSON of a run. A value is a path such as a.b.0.c, or a ratio such "
      "as 'a.b / c'.");
    v("plots", plots, "The plots to draw.");
    v("findings", findings, "Statements that are checked against a published figure or a limit.");
    v("short", short_form, "What `--short` runs in its place: findings are then not judged.");
  }
  // Takes the short form: `set` after that of the file, `repeat`, and drop_first is off. The part
  // of the cells is left_only()'s.
  void shorten();
  // How the figure of one of its findings came about.
  FigureOrigin how(const FindingOptions& finding) const;
  void check(const Section& section) const;
};

// Reads a sweep file with overrides of it ("repeat=1"), or makes a sweep of an experiment's file
// and axes ("loader.workers=1,2", grid.h). A relative `base` is one from the directory of the file.
// Error(ExitCode::config) with position; ExitCode::environment where it cannot be read.
SweepOptions read_sweep(const std::string& path, const std::vector<std::string>& overrides);

}  // namespace stoker
