#include "app/base/registered_command.h"

namespace stoker {

std::map<std::string, AddCommand>& registered_commands() {
  static std::map<std::string, AddCommand> commands;
  return commands;
}

}  // namespace stoker
