#include "app/bench/headspace.h"

#include "app/commands/commands.h"

namespace stoker {

void add_headspace(const Command& program) {
  const auto arguments = std::make_shared<HeadspaceArguments>();
  const Command command = program.add(
      "headspace",
      "Rates from the device alone down to the cold tier, and which of them binds first");
  command.config(*arguments);
  command.argument("--epochs", arguments->options.epochs, "measured epochs of each level")
      .range(1, 1000);
  command.argument("--steps", arguments->options.steps, "steps in each measurement of the device")
      .range(1, 1000000);
  command.flag("--json", arguments->json, "print one line of JSON");
  command.run([=] { return headspace(*arguments); });
}

}  // namespace stoker
