#include "app/commands/commands.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "app/base/tool_command.h"
#include "io/core/config/plugin.h"
#include "io/core/error.h"

namespace stoker {
namespace {

constexpr std::pair<std::string_view, AddCommand> kCommands[] = {
    {"train", add_train},
    {"launch", add_launch},
    {"check", add_check},
    {"list", add_list},
    {"describe", add_describe},
    {"checkpoint", add_checkpoint},
    {"environment", add_environment},
    {"healthcheck", add_healthcheck},
};

bool is_command(const PluginType& type) { return std::string_view(type.kind) == "command"; }

}  // namespace

bool add_command(const Command& program, const std::string& name) {
  for (const auto& [known, add] : kCommands) {
    if (known != name) continue;
    add(program);
    return true;
  }
  const bool of_tool = std::ranges::any_of(plugin_types(), [&](const PluginType& known) {
    return is_command(known) && known.type == name;
  });
  if (!of_tool) return false;
  const std::string problem = load_type("command", name);
  if (!problem.empty()) throw Error(ExitCode::environment, problem);
  tool_commands().at(name)(program);
  return true;
}

std::vector<std::string> add_all_commands(const Command& program) {
  for (const auto& [name, add] : kCommands) add(program);
  std::vector<std::string> left_out;
  for (const PluginType& known : plugin_types()) {
    if (!is_command(known)) continue;
    if (load_type("command", known.type).empty()) {
      tool_commands().at(known.type)(program);
    } else {
      left_out.emplace_back(known.type);
    }
  }
  return left_out;
}

}  // namespace stoker
