#include "app/base/tool_command.h"

namespace stoker {

std::map<std::string, AddCommand>& tool_commands() {
  static std::map<std::string, AddCommand> commands;
  return commands;
}

}  // namespace stoker
