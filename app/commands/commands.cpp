#include "app/commands/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "app/base/command_line.h"
#include "app/process/provenance.h"
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

namespace {

constexpr const char* kExitCodes = R"(Exit codes:
    0  success
    2  wrong usage or configuration
    3  wrong environment: a missing file, permission or space
    4  more bad samples than dataset.on_error allows
    5  a checkpoint or the storage failed
    6  the device failed
    7  a stated threshold was missed, or a loss is no number
   70  a bug of this program
   75  stopped by SIGTERM, SIGHUP or SIGUSR1: start it again to go on
  130  stopped by SIGINT
  141  cut off: whoever read its output went away (never a training)
)";

}  // namespace

bool is_help_topic(const std::string& word) { return word == "exit-codes"; }

ExitCode print_help(const HelpArguments&) {
  fmt::print("{}", kExitCodes);
  return ExitCode::ok;
}

ExitCode print_version() {
  fmt::print("{}\n", version_line());
  return ExitCode::ok;
}

}  // namespace stoker
