#include "app/analysis/trace_report.h"
#include "app/commands/commands.h"

namespace stoker {

void add_trace(const Command& program) {
  struct Arguments {
    std::string run;
    bool json = false;
  };
  const auto arguments = std::make_shared<Arguments>();
  const Command command = program.add(
      "trace", "Recompute a run's figures from its trace.json, beside its summary.json");
  command.argument("RUN", arguments->run, "a run's directory").required();
  command.flag("--json", arguments->json, "print JSON");
  command.run([=] { return compare_with_trace(arguments->run, arguments->json); });
}

}  // namespace stoker
