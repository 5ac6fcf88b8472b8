#include "app/commands/commands.h"

#include <algorithm>
#include <string_view>

#include "app/base/command_line.h"
#include "io/core/config/plugin.h"
#include "io/core/error.h"

namespace stoker {
namespace {

// All that are known, whether their libraries are there or not.
std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const PluginType& known : plugin_types()) {
    if (std::string_view(known.kind) == "command") names.emplace_back(known.type);
  }
  for (const auto& [name, add] : registered_commands()) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

// Declares one that is known, below its group where its name has two words. Returns why it cannot
// be had.
std::string declare(const Command& program, const std::string& name) {
  if (!registered_commands().contains(name)) {
    std::string problem = load_type("command", name);
    if (!problem.empty()) return problem;
  }
  const size_t space = name.find(' ');
  const auto group =
      space == std::string::npos ? std::optional(program) : program.find(name.substr(0, space));
  if (group) registered_commands().at(name)(*group);
  return "";
}

void need(const Command& program, const std::string& name) {
  const std::string problem = declare(program, name);
  if (!problem.empty()) throw Error(ExitCode::environment, problem);
}

}  // namespace

bool add_command(const Command& program, const std::string& name, const std::string& next) {
  const std::vector<std::string> known = command_names();
  const auto is_known = [&](const std::string& one) {
    return std::ranges::find(known, one) != known.end();
  };
  if (!is_known(name)) return false;
  need(program, name);
  if (is_known(name + " " + next)) {
    need(program, name + " " + next);
  } else if (!program.find(name)->find(next)) {
    for (const std::string& one : known) {
      if (one.starts_with(name + " ")) declare(program, one);
    }
  }
  return true;
}

std::vector<std::string> add_all_commands(const Command& program) {
  std::vector<std::string> left_out;
  for (const std::string& name : command_names()) {
    if (!declare(program, name).empty()) left_out.push_back(name);
  }
  return left_out;
}

}  // namespace stoker
