#include "app/run/healthcheck.h"

#include "app/commands/commands.h"

namespace stoker {

void add_healthcheck(const Command& program) {
  struct Arguments {
    std::string address = "127.0.0.1:9464";
    bool json = false;
  };
  const auto arguments = std::make_shared<Arguments>();
  const Command command = program.add(
      "healthcheck", "Ask a run whether it makes progress: exit code 0 yes, 7 no, 3 no answer");
  command.argument("ADDRESS", arguments->address, "where the run's sink `prometheus` listens")
      .or_environment("STOKER_LISTEN");
  command.flag("--json", arguments->json, "print JSON");
  command.run([=] { return check_health(arguments->address, arguments->json); });
}

}  // namespace stoker
