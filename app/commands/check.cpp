#include "app/experiment/check.h"

#include "app/commands/commands.h"

namespace stoker {

void add_check(const Command& program) {
  struct Arguments : ConfigArguments {
    bool json = false;
  };
  const auto arguments = std::make_shared<Arguments>();
  const Command command = program.add(
      "check", "Check a configuration without touching data; print it with every default");
  command.config(*arguments);
  command.flag("--json", arguments->json, "print JSON instead of YAML");
  command.run([=] { return check_experiment(*arguments, arguments->json); });
}

}  // namespace stoker
