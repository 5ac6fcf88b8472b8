#pragma once

#include <string>
#include <vector>

#include "io/core/error.h"

namespace stoker {

struct ListArguments {
  std::string kind;                  // of `list`: empty for all
  std::string type;                  // of `describe`
  std::vector<std::string> plugins;  // absolute paths, loaded first
  bool json = false;
  bool figures = false;  // of `list`: every figure of a run instead, as a page of Markdown
};

// `stoker list`: prints the components of one kind, or of all; or the page of all figures.
ExitCode list_components(const ListArguments& arguments);
// `stoker describe`: prints one component's options. Error(ExitCode::config) for an unknown one.
ExitCode describe_component(const ListArguments& arguments);

}  // namespace stoker
