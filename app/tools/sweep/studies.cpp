#include "app/tools/sweep/studies.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "app/base/progress_line.h"
#include "app/tools/report/report.h"
#include "io/core/error.h"
#include "io/core/system/file.h"
#include "io/core/text/json.h"
#include "io/core/text/text.h"

// The file is read, every sweep of it is run as `stoker sweep FILE` would, and what they found is
// put into one page by study.

namespace stoker {
namespace {

using nlohmann::json;

StudiesOptions read_studies(const std::string& path) {
  StudiesOptions options;
  read_struct(Section(load_yaml(path), "", "", nullptr), options);
  return options;
}

// The sweep files of all studies, in the order of the page, as they are opened.
std::vector<std::string> files_of(const StudiesOptions& options, const std::string& path) {
  std::vector<std::string> files;
  for (const StudyOptions& study : options.studies) {
    for (const std::string& sweep : study.sweeps) {
      files.push_back((std::filesystem::path(path).parent_path() / sweep).lexically_normal());
    }
  }
  return files;
}

// {"tier": "hdd"} and {"tier": ["hdd", "ssd"]} -> what is named on each axis.
using Named = std::map<std::string, std::set<std::string>>;
void add_pattern(const json& pattern, Named& named) {
  for (const auto& [axis, value] : pattern.items()) {
    for (const json& name : value.is_array() ? value : json::array({value})) {
      named[axis].insert(name.is_string() ? name.get<std::string>() : name.dump());
    }
  }
}

bool matches(const json& cell, const Named& named) {
  return std::ranges::all_of(
      named, [&](const auto& term) { return term.second.contains(cell.value(term.first, "")); });
}

Named cells_of(const json& finding) {
  Named named;
  for (const char* key : {"of", "over", "less", "among"}) {
    if (finding.contains(key)) add_pattern(finding[key], named);
  }
  return named;
}

// What runs the cells of a statement again. An axis value with a comma in it cannot be listed.
std::string command_of(const std::string& file, const Named& named) {
  std::string command = "stoker sweep " + file;
  for (const auto& [axis, names] : named) {
    const bool comma = std::ranges::any_of(
        names, [](const std::string& name) { return name.find(',') != std::string::npos; });
    if (comma && names.size() > 1) continue;
    command += " --only " + shell_word(fmt::format("{}={}", axis, fmt::join(names, ",")));
  }
  return command;
}

// How often each cell of the statement was run well; of several cells the least.
int64_t runs_of(const json& sweep, const Named& named) {
  std::map<json, int64_t> counts;
  for (const json& row : sweep.at("rows")) {
    if (matches(row.at("cell"), named) && row.at("status") == "ok") ++counts[row.at("cell")];
  }
  int64_t least = counts.empty() ? 0 : std::numeric_limits<int64_t>::max();
  for (const auto& [cell, count] : counts) least = std::min(least, count);
  return sweep.value("drop_first", false) ? std::max<int64_t>(0, least - 1) : least;
}

double seconds_of(const json& sweep) {
  double sum = 0;
  for (const json& row : sweep.at("rows")) sum += row.at("seconds").get<double>();
  return sum;
}

// Of a run only what a plot, a statement or a reader of the page asks for.
json slim(json sweep) {
  const auto wanted = sweep.at("main_figures").get<std::set<std::string>>();
  std::set<json> conditions;
  for (json& row : sweep["rows"]) {
    row.erase("hash");
    if (row.contains("conditions") && !conditions.insert(row["conditions"]).second) {
      row.erase("conditions");  // the page shows the distinct ones
    }
    std::erase_if(row["figures"].get_ref<json::object_t&>(),
                  [&](const auto& figure) { return !wanted.contains(figure.first); });
  }
  for (json& plot : sweep["plots"]) {
    for (json& series : plot["data"]) {
      for (json& point : series["points"]) point.erase("values");  // the rows have them
    }
  }
  sweep["columns"] = sweep["main_figures"];
  return sweep;
}

std::string directory_of(const SweepArguments& arguments, const StudiesOptions& options) {
  if (!arguments.directory.empty()) return arguments.directory;
  return "sweeps/" + options.name + (arguments.shorten ? "-short" : "");
}

}  // namespace

bool is_studies(const std::string& path) { return load_yaml(path).find("studies") != nullptr; }

json studies_json(const StudiesOptions& options, const std::vector<json>& results) {
  json page = {{"kind", "studies"},
               {"title", options.title},
               {"seconds", 0.0},
               {"studies", json::array()},
               {"sweeps", json::array()}};
  size_t next = 0;
  for (const StudyOptions& study : options.studies) {
    json rows = json::array(), sweeps = json::array();
    for (size_t i = 0; i < study.sweeps.size(); ++i, ++next) {
      const json& sweep = results.at(next);
      for (json row : sweep.at("findings")) {
        const Named named = cells_of(row);
        row["sweep"] = sweep.at("name");
        row["runs"] = runs_of(sweep, named);
        row["command"] = command_of(sweep.at("file"), named);
        rows.push_back(std::move(row));
      }
      const double seconds = seconds_of(sweep);
      page["seconds"] = page["seconds"].get<double>() + seconds;
      sweeps.push_back({{"name", sweep.at("name")},
                        {"file", sweep.at("file")},
                        {"runs", sweep.at("rows").size()},
                        {"seconds", seconds},
                        {"conditions", sweep.at("conditions")}});
      page["sweeps"].push_back(slim(sweep));
      if (sweep.value("shortened", false)) page["shortened"] = true;
    }
    page["studies"].push_back({{"title", study.title},
                               {"published", study.published},
                               {"about", study.about},
                               {"rows", std::move(rows)},
                               {"sweeps", std::move(sweeps)}});
  }
  return page;
}

ExitCode run_studies(const SweepArguments& arguments, const CheckWords& check) {
  if (!arguments.overrides.empty() || !arguments.only.empty()) {
    throw Error(ExitCode::config, arguments.file +
                                      " has several sweeps: overrides of a sweep file and --only "
                                      "are of one; use --set, or run that sweep alone");
  }
  const StudiesOptions options = read_studies(arguments.file);
  const std::string directory = directory_of(arguments, options);
  const char* given = std::getenv("STOKER_SCRATCH");
  if (!options.scratch.value.empty() && (given == nullptr || *given == '\0')) {
    setenv("STOKER_SCRATCH", options.scratch.value.c_str(), 1);
  }
  const std::vector<std::string> files = files_of(options, arguments.file);
  const auto one = [&](const std::string& file, bool check_only) {
    SweepArguments own = arguments;
    own.file = file;
    own.directory = directory + "/" + std::filesystem::path(file).stem().string();
    own.check = check_only;
    return sweep_once(own, check);
  };
  for (const std::string& file : files) {  // before the first run of any
    const SweepOutcome outcome = one(file, true);
    if (arguments.check) fmt::print("{}\n{}", file, outcome.text);
  }
  if (arguments.check) return ExitCode::ok;
  std::vector<json> results;
  ExitCode code = ExitCode::ok;
  for (const std::string& file : files) {
    print_note(file);
    SweepOutcome outcome = one(file, false);
    if (outcome.interrupted) return outcome.code;
    const bool so_far_well = code == ExitCode::ok || code == ExitCode::threshold;
    if (so_far_well && outcome.code != ExitCode::ok) code = outcome.code;
    outcome.results.update({{"file", file}, {"conditions", outcome.conditions}});
    results.push_back(std::move(outcome.results));
  }
  const json page = studies_json(options, results);
  const auto write = [&](const char* name, const std::string& text) {
    const std::string path = directory + "/" + name;
    atomic_write_file(path, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    return path;
  };
  const std::string html = write("studies.html", report_html(page));
  const std::string text = studies_text(page);
  const std::string markdown = write("studies.md", text);
  if (arguments.json) {
    fmt::print("{}\n", json_text(page));
  } else {
    fmt::print("{}pages: {}, {}\n", text, html, markdown);
  }
  return code;
}

}  // namespace stoker
