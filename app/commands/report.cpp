#include "app/analysis/report.h"

#include "app/commands/commands.h"

namespace stoker {

void add_report(const Command& program) {
  const auto arguments = std::make_shared<ReportArguments>();
  const Command command =
      program.add("report", "One HTML page of a run, of several, or of a sweep");
  command
      .argument("DIRECTORY", arguments->directories,
                "runs, which are laid side by side, or sweeps, one below the other")
      .required();
  command.argument("--output", arguments->output,
                   "the page; by default report.html in the (first) directory");
  command.flag("--json", arguments->json, "print JSON");
  command.run([=] { return write_report(*arguments); });
}

}  // namespace stoker
