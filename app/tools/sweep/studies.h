#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/tools/sweep/sweep.h"
#include "io/core/config/config.h"

namespace stoker {

// A published study and the sweeps that redo it. A value.
struct StudyOptions {
  std::string title;
  std::string published;
  std::string about;
  std::vector<std::string> sweeps;
  template <class V>
  void visit(V& v) {
    v.required("title", title, "What the study is called here.");
    v.required("published", published, "Authors, title, place and year.");
    v("about", about, "What it did, in a sentence or two.");
    v.required("sweeps", sweeps, "Its sweep files, by their paths from this file.");
  }
};

// Several studies for one page. A value.
struct StudiesOptions {
  std::string name;
  std::string title;
  Path scratch;
  std::vector<StudyOptions> studies;
  template <class V>
  void visit(V& v) {
    v.required("name", name, "Name of the directory below sweeps/.");
    v.required("title", title, "Title of the page.");
    v("scratch", scratch, "Where runs write what nobody keeps, if STOKER_SCRATCH does not say.");
    v.required("studies", studies, "The studies, in the order of the page.");
  }
};

// Is it a file of studies, and not of one sweep? Error as load_yaml().
bool is_studies(const std::string& path);

// Runs the sweeps of all studies, one after the other, each in a directory of its own below
// arguments.directory, and writes studies.html and studies.md there. What is not of one sweep holds
// for all of them: set, shorten, restart, report_only, check. A sweep whose findings are outside
// does not end it. The exit code is that of the first sweep that failed, else ExitCode::threshold
// where one was outside. Error(ExitCode::config) for arguments that are of one sweep. As sweep().
ExitCode run_studies(const SweepArguments& arguments, const CheckWords& check);

// The data of the page: {kind: studies, title, seconds, studies: [{title, published, about, rows,
// sweeps}], sweeps}. A row is a finding with "sweep", "runs" (of each cell, the least) and
// "command". results: of each sweep in their order, as results_json() has them, with "file" and
// "conditions". A pure function.
nlohmann::json studies_json(const StudiesOptions& options,
                            const std::vector<nlohmann::json>& results);

// The same for reading in a repository: Markdown, without the plots.
std::string studies_text(const nlohmann::json& page);

}  // namespace stoker
