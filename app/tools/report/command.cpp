#include "app/base/tool_command.h"
#include "app/tools/report/commands.h"
#include "app/tools/report/compare.h"

namespace stoker {
namespace {

void add_compare(const Command& program) {
  const Command command =
      program.add("compare", "Two runs, or two sets of runs: what differs, and is it noise?");
  CompareArguments& arguments = command.run(compare_runs);
  command.argument("RUN", arguments.pair, "A and B, directories of runs").at_most(2);
  command.argument("--a", arguments.a, "directories of the runs of side A");
  command.argument("--b", arguments.b, "directories of the runs of side B");
  command.argument("--metric", arguments.metric, "what the verdict is about");
  command.argument("--threshold", arguments.threshold,
                   "exit code 7 where B is worse by more than this, with confidence, or cannot be "
                   "compared");
  command.flag("--json", arguments.json, "print JSON");
}

void add_report(const Command& program) {
  const Command command =
      program.add("report", "One HTML page of a run, of several, or of a sweep");
  ReportArguments& arguments = command.run(write_report);
  command
      .argument("DIRECTORY", arguments.directories,
                "runs, which are laid side by side, or sweeps or Darshan logs, one below the other")
      .required();
  command.argument("--output", arguments.output,
                   "the page; by default report.html in the (first) directory");
  command.flag("--json", arguments.json, "print JSON");
}

void add_timelogger(const Command& program) {
  const Command command = program.add(
      "timelogger", "Analyse TimeLogger records by both published methods, and reading's overlap");
  TimeLoggerArguments& arguments = command.run(report_time_logs);
  command.argument("PATHS", arguments.paths, "runs, folders of records, or files of records (CSV)")
      .required();
  command
      .argument("--nodes", arguments.nodes,
                "number of nodes to divide sums by; default: that of the ranks")
      .positive();
  command.argument("--timeline", arguments.timelines,
                   "profiler windows of the same run (profile-STEP.json), or a TF Timeline: what "
                   "reading was hidden behind by these");
  command.argument("--max-bad", arguments.max_bad, "share of lines that may be broken")
      .between(0, 1);
  command.flag("--json", arguments.json, "print JSON");
}

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

const ToolCommand report_command("report", add_report);
const ToolCommand compare_command("compare", add_compare);
const ToolCommand timelogger_command("timelogger", add_timelogger);
const ToolCommand trace_command("trace", add_trace);

}  // namespace
}  // namespace stoker
