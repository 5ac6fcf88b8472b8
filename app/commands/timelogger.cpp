#include "app/analysis/timelogger_report.h"
#include "app/commands/commands.h"

namespace stoker {

void add_timelogger(const Command& program) {
  const auto arguments = std::make_shared<TimeLoggerArguments>();
  const Command command = program.add(
      "timelogger", "Analyse TimeLogger records by both published methods, and reading's overlap");
  command.argument("PATHS", arguments->paths, "runs, folders of records, or files of records (CSV)")
      .required();
  command
      .argument("--nodes", arguments->nodes,
                "number of nodes to divide sums by; default: that of the ranks")
      .positive();
  command.argument("--max-bad", arguments->max_bad, "share of lines that may be broken")
      .between(0, 1);
  command.flag("--json", arguments->json, "print JSON");
  command.run([=] { return report_time_logs(*arguments); });
}

}  // namespace stoker
