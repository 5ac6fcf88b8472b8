#include "app/tools/sweep/sweep_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "app/tools/sweep/grid.h"
#include "io/core/error.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

void check_one_cell(const CellPattern& pattern, const char* key, const SweepMatrix& matrix,
                    const Section& section) {
  pattern.check(matrix, section);
  for (const std::string& axis : matrix.keys()) {
    if (pattern.fixes(axis)) continue;
    section.fail(key, "must name one cell: it says no single value for '" + axis + "'");
  }
}

// more: what it may be beside an axis.
void check_axis(const Word& axis, const char* key, const SweepMatrix& matrix,
                const std::vector<std::string>& more, const Section& section) {
  std::vector<std::string> known = matrix.keys();
  known.insert(known.end(), more.begin(), more.end());
  if (std::ranges::find(known, axis.text) != known.end()) return;
  section.fail_at(axis.at, fmt::format("'{}' must be an axis of the matrix{}, got '{}'{}", key,
                                       more.empty() ? "" : " or " + more.front(), axis.text,
                                       suggestion(axis.text, known)));
}

void check_plot(const PlotOptions& plot, const SweepMatrix& matrix, const Section& section) {
  check_axis({plot.x, section.node().find("x")->at}, "x", matrix, {kTime}, section);
  for (const Word& axis : plot.series.names) check_axis(axis, "series", matrix, {}, section);
  plot.where.check(matrix, section);
  plot.relative_to.check(matrix, section);
  for (const std::string& axis : matrix.keys()) {
    if (axis == plot.x || plot.series.has(axis) || plot.where.fixes(axis)) continue;
    if (matrix.find(axis)->values.size() == 1) continue;
    section.fail_at(section.node().at, "axis '" + axis +
                                           "' is neither x nor in series: name it there, or say "
                                           "one value of it in where");
  }
  if (plot.x == kTime && !plot.relative_to.empty()) {
    section.fail("relative_to", "goes with an axis as x, not with time");
  }
  const bool alone = plot.series.names.empty() && plot.relative_to.empty() && plot.x != kTime &&
                     plot.scale == PlotScale::linear;
  if (!plot.stack.empty() && !alone) {
    section.fail("stack", "goes with an axis as x, without series, relative_to and scale: log");
  }
  for (const CellPattern::Term& term : plot.relative_to.terms) {
    if (term.names.size() != 1) section.fail_at(term.axis.at, "must be one value");
  }
}

void check_finding(const FindingOptions& finding, const SweepMatrix& matrix,
                   const Section& section) {
  if (finding.kind() == "spread") {
    finding.among.check(matrix, section);
  } else {
    check_one_cell(finding.of, "of", matrix, section);
  }
  if (!finding.over.empty()) check_one_cell(finding.over, "over", matrix, section);
  if (!finding.less.empty()) check_one_cell(finding.less, "less", matrix, section);
}

std::string first_word(const std::string& text) { return text.substr(0, text.find(' ')); }

// The element `i` of the list `key` of the sweep, for messages.
Section element(const Section& section, const char* key, size_t i) {
  const Node* list = section.node().find(key);
  return Section(list->items[i], std::string(key), std::to_string(i), section.context());
}

}  // namespace

std::vector<std::string> words_of(const SweepPreparation& step) {
  std::vector<std::string> words;
  for (const Word& word : step.run) {
    Path path;
    if (!Scalar<Path>::parse(word.text, path)) {
      throw Error(ExitCode::config, fmt::format("{}: prepare: '{}' must be a word (is the variable "
                                                "in it set?)",
                                                word.at.text(), word.text));
    }
    words.push_back(path.value);
  }
  return words;
}

void Field<SweepBase>::read(const Section& at, SweepBase& out, Limits limits) {
  if (at.node().kind == Node::Kind::mapping) {
    out.experiment = at.node();
    return;
  }
  Path path;
  Field<Path>::read(at, path, limits);
  const fs::path file(at.node().at.source == nullptr ? "" : *at.node().at.source);
  const bool from_command_line = at.node().at.line == 0;
  out.path = from_command_line ? path.value : (file.parent_path() / path.value).string();
}

Node Field<SweepBase>::dump(const SweepBase& value) {
  if (value.path.empty()) return value.experiment;
  return Node::text(fs::absolute(value.path).lexically_normal().string());
}

void Field<PublishedPoint>::read(const Section& at, PublishedPoint& out, Limits limits) {
  const std::vector<Node>& items = at.node().items;
  if (items.size() != 2 || items[0].kind != Node::Kind::scalar) at.fail("must be [x, y]");
  out.x = items[0].scalar;
  Field<double>::read(at.child("1", items[1]), out.y, limits);
}

Node Field<PublishedPoint>::dump(const PublishedPoint& value) {
  Node node(Node::Kind::sequence, {});
  node.items = {Node::text(value.x), Field<double>::dump(value.y)};
  return node;
}

EnumNames<PlotScale> enum_names(PlotScale) {
  return {{"linear", PlotScale::linear}, {"log", PlotScale::log}};
}

EnumNames<FigureOrigin> enum_names(FigureOrigin) {
  return {{"measured", FigureOrigin::measured},
          {"calculated", FigureOrigin::calculated},
          {"put_in", FigureOrigin::put_in},
          {"simulated", FigureOrigin::simulated}};
}

std::string FindingOptions::kind() const {
  if (!among.empty() || of.empty()) return "spread";
  return over.empty() ? "value" : "ratio";
}

void FindingOptions::check(const Section& section) const {
  const Position& here = section.node().at;
  if (of.empty() == among.empty()) section.fail_at(here, "give 'of', or 'among' for a spread");
  if (!among.empty() && !over.empty()) section.fail("over", "goes with 'of', not with 'among'");
  if (!published && !at_most && !at_least) {
    section.fail_at(here, "give 'published', 'at_most' or 'at_least': a statement can fail");
  }
  if (published && fitted.empty() && !tolerance && !at_most && !at_least) {
    section.fail("published", "needs a 'tolerance', e.g. 15%");
  }
  if (tolerance && !published) section.fail("tolerance", "is that of 'published', which is absent");
}

void SweepOptions::check(const Section& section) const {
  const bool plain = !name.empty() && name.front() != '.' && name.size() <= 100 &&
                     name.find('/') == std::string::npos;
  if (!plain) section.fail("name", "must be usable as the name of a directory, got '" + name + "'");
  if (!is_sweep_command(command.text)) {
    section.fail(
        "command",
        "must be train, launch, simulate, or bench with its sub-command, got '" + command.text +
            "'" + did_you_mean(first_word(command.text), {"train", "launch", kSimulate, "bench"}));
  }
  if (drop_first && repeat < 2) section.fail("drop_first", "leaves nothing: repeat at least twice");
  for (size_t i = 0; i < prepare.size(); ++i) {
    if (prepare[i].run.empty()) element(section, "prepare", i).fail("run", "must not be empty");
  }
  for (const auto& [mount, how] : mounts) {
    const bool variable = !mount.empty() && std::ranges::all_of(mount, [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_';
    });
    if (variable) continue;
    section.fail("mounts", "must have names of letters, digits and _, as variables have, got '" +
                               mount + "'");
  }
  for (size_t i = 0; i < exclude.size(); ++i) {
    const Section at = element(section, "exclude", i);
    if (exclude[i].empty()) at.fail("excludes everything");
    exclude[i].check(matrix, at);
  }
  for (size_t i = 0; i < plots.size(); ++i) {
    check_plot(plots[i], matrix, element(section, "plots", i));
  }
  for (size_t i = 0; i < findings.size(); ++i) {
    check_finding(findings[i], matrix, element(section, "findings", i));
  }
}

void SweepOptions::shorten() {
  set.insert(set.end(), short_form.set.begin(), short_form.set.end());
  repeat = short_form.repeat;
  drop_first = false;
  shortened = true;
}

FigureOrigin SweepOptions::how(const FindingOptions& finding) const {
  if (finding.how) return *finding.how;
  if (!finding.fitted.empty()) return FigureOrigin::put_in;
  return command.text == kSimulate ? FigureOrigin::simulated : FigureOrigin::measured;
}

SweepOptions read_sweep(const std::string& path, const std::vector<std::string>& overrides) {
  Node root = load_yaml(path);
  if (is_experiment(root)) {
    root = grid_of(path, overrides);
  } else {
    for (const std::string& assignment : overrides) {
      if (!replace_axis(root, assignment)) apply_override(root, assignment);
    }
  }
  SweepOptions options;
  read_struct(Section(root, "", "", nullptr), options);
  return options;
}

}  // namespace stoker
