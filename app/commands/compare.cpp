#include "app/analysis/compare.h"

#include "app/commands/commands.h"

namespace stoker {

void add_compare(const Command& program) {
  const auto arguments = std::make_shared<CompareArguments>();
  const Command command =
      program.add("compare", "Two runs, or two sets of runs: what differs, and is it noise?");
  command.argument("RUN", arguments->pair, "A and B, directories of runs").at_most(2);
  command.argument("--a", arguments->a, "directories of the runs of side A");
  command.argument("--b", arguments->b, "directories of the runs of side B");
  command.argument("--metric", arguments->metric, "what the verdict is about");
  command.argument("--threshold", arguments->threshold,
                   "exit code 7 where B is worse by more than this, with confidence, or cannot be "
                   "compared");
  command.flag("--json", arguments->json, "print JSON");
  command.run([=] { return compare_runs(*arguments); });
}

}  // namespace stoker
