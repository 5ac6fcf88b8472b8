#include "app/base/command_line.h"
#include "app/tools/report/compare.h"
#include "app/tools/report/report.h"

namespace stoker {
namespace {

void add_compare(const Command& program) {
  const Command command =
      program.add("compare",
                  "Compare runs, or two sets of runs: what differs, and whether "
                  "the difference is more than noise.");
  CompareArguments& arguments = command.run(compare_runs);
  command.argument(
      "RUN", arguments.runs,
      "Directories of two runs, A and B, or of more, each of which is compared with the "
      "first.");
  command.argument("--a", arguments.a, "Directories of the runs of side A.");
  command.argument("--b", arguments.b, "Directories of the runs of side B.");
  command.argument("--metric", arguments.metric, "The figure that the verdict is about.");
  command.argument("--threshold", arguments.threshold,
                   "The exit code is 7 if B is worse by more than this share (5% or 0.05) with "
                   "confidence, or if A and B cannot be compared.");
  command.flag("--json", arguments.json, "Print JSON.");
}

void add_report(const Command& program) {
  const Command command =
      program.add("report", "Write one HTML page about a run, several runs, or a sweep.");
  ReportArguments& arguments = command.run(write_report);
  command
      .argument("DIRECTORY", arguments.directories,
                "Directories of runs, which are shown side by side, or of sweeps, or Darshan logs, "
                "which are shown one below the other.")
      .required();
  command.argument("--output", arguments.output,
                   "File to write the page to. The default is report.html in the first directory.");
  command.flag("--json", arguments.json, "Print JSON.");
}

void add_timelogger(const Command& program) {
  const Command command = program.add("timelogger",
                                      "Analyse TimeLogger records by both published methods, and "
                                      "how much of the reading was overlapped.");
  TimeLoggerArguments& arguments = command.run(report_time_logs);
  command
      .argument("PATHS", arguments.paths,
                "Directories of runs, folders of records, or files of records (CSV).")
      .required();
  command
      .argument("--nodes", arguments.nodes,
                "Number of nodes to divide sums by. The default is the number of nodes that the "
                "ranks ran on.")
      .positive();
  command.argument("--timeline", arguments.timelines,
                   "Profiler windows of the same run (profile-STEP.json), or a TensorFlow "
                   "Timeline. They show what the reading was hidden behind.");
  command
      .argument("--max-bad", arguments.max_bad,
                "Largest share of the lines that may be unreadable, from 0 to 1.")
      .between(0, 1);
  command.flag("--json", arguments.json, "Print JSON.");
}

void add_trace(const Command& program) {
  struct Arguments {
    std::string run;
    bool json = false;
  };
  const auto arguments = std::make_shared<Arguments>();
  const Command command = program.add("trace",
                                      "Compute a run's figures again from its trace.json, and show "
                                      "them beside those of its summary.json.");
  command.argument("RUN", arguments->run, "The directory of a run.").required();
  command.flag("--json", arguments->json, "Print JSON.");
  command.run([=] { return compare_with_trace(arguments->run, arguments->json); });
}

const RegisteredCommand report_command("report", add_report);
const RegisteredCommand compare_command("compare", add_compare);
const RegisteredCommand timelogger_command("timelogger", add_timelogger);
const RegisteredCommand trace_command("trace", add_trace);

}  // namespace
}  // namespace stoker
