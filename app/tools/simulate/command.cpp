#include "app/base/tool_command.h"
#include "app/tools/simulate/simulate.h"
#include "app/tools/simulate/what_if.h"

namespace stoker {
namespace {

constexpr const char* kSimulateFooter = R"(
A file has the sections machine: (nodes, tiers, page cache, network), workload: (in the place of a run, or of what it
says) and published:; app/tools/simulate/README.md. Of a run of one rank: stoker simulate --run RUN machine.ranks_per_node=4)";

void add_simulate(const Command& program) {
  const Command command = program.add(
      "simulate",
      "Predict a run at other sizes and speeds, by a measured run and a machine's file");
  SimulateArguments& arguments = command.run(simulate);
  command.footer(kSimulateFooter);
  command.argument("--run", arguments.config, "the directory of a measured run");
  command.argument("--machine", arguments.machine, "a YAML file: on what, and of what workload");
  command.overrides(arguments.overrides);
  command.argument("--what-if", arguments.what_if,
                   "knobs to turn, and show beside the inputs as they are: " + knobs_help());
  command.flag("--inputs", arguments.inputs, "print every input, those with defaults, too");
  command.flag("--json", arguments.json, "print one line of JSON");
}

const ToolCommand simulate_command("simulate", add_simulate);

}  // namespace
}  // namespace stoker
