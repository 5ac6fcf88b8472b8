#pragma once

#include <string>
#include <vector>

#include "app/base/command_line.h"
#include "io/core/error.h"

namespace stoker {

// What `stoker list` and `stoker describe` are asked for. A value.
struct ListArguments {
  std::string kind;                  // empty: all; describe: the experiment file; or a type
  std::string type;                  // describe: the type; empty: all of the kind
  std::vector<std::string> plugins;  // absolute paths, loaded first
  bool json = false;
  bool figures = false;  // list: every figure of a run instead, as a page of Markdown
};

// All kinds of components, with the plug-ins that are loaded by now, and the keys of the experiment
// file; the options of its components are not among them.
std::vector<ComponentKind> component_kinds();
std::vector<FieldHelp> experiment_keys();
// The keys that end with this word: "training.seed", or "loader.workers", which some type of loader
// has. Of tiers, whose names a file chooses, and of sinks there are none.
std::vector<std::string> keys_with(const std::string& word);

// `list` and `describe` load the plug-ins that they are given and all that lie beside the library,
// once for the whole process, and say which of these could not be loaded. Without the library of
// the trainer there are the kinds and keys of the half of an experiment that loads data, of
// checkpointers and of sinks. Both print on standard output. Error(ExitCode::config) for an unknown
// kind or type, with a suggestion.

// `stoker list`: the components of one kind, or of all; or the page of all figures.
ExitCode list_components(const ListArguments& arguments);
// `stoker describe`: one component's options, those of all of a kind (as JSON an object by type),
// those of a type that is named without its kind (an object by kind), or the keys of the experiment
// file.
ExitCode describe_component(const ListArguments& arguments);

}  // namespace stoker
