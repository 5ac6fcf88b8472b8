#include "app/base/command_line.h"
#include "app/tools/simulate/simulate.h"

namespace stoker {
namespace {

constexpr const char* kSimulateFooter = R"(
The file of --machine has the sections machine: (nodes, tiers, page cache, network) and workload: (which replaces a run,
or parts of it). app/tools/simulate/README.md describes them.
To predict a measured run of one rank on four:  stoker simulate --run RUN machine.ranks_per_node=4
To ask what cores, workers and storage a number of GPUs need:  stoker size)";

void add_simulate(const Command& program) {
  const Command command =
      program.add("simulate",
                  "Predict how long a run would take at other sizes and speeds, from a measured "
                  "run and a description of a machine.");
  SimulateArguments& arguments = command.run(simulate);
  command.footer(kSimulateFooter);
  command.argument("--run", arguments.config, "The directory of a measured run.");
  command.argument("--machine", arguments.machine,
                   "A YAML file that describes the machine and the workload.");
  command.overrides(arguments.overrides);
  command.argument(
      "--what-if", arguments.what_if,
      "Show also the result with some of these changes, joined by commas: " + knobs_help() +
          ". One that is named again is one more row: workers=2x,workers=4x.");
  command.flag("--inputs", arguments.inputs,
               "Print every input below the result: its value, and where that is from.");
  command.flag("--json", arguments.json, "Print the result as one line of JSON.");
}

const RegisteredCommand simulate_command("simulate", add_simulate);

}  // namespace
}  // namespace stoker
