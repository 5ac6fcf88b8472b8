#include <memory>
#include <optional>

#include "app/base/command_line.h"
#include "app/tools/runs/run_list.h"

namespace stoker {
namespace {

// What both commands were asked for: the upper one runs as well where the lower one is called.
struct Arguments {
  RunsArguments list;
  RemoveArguments remove;
  bool removing = false;
};

void add_remove(const Command& runs, const std::shared_ptr<Arguments>& arguments) {
  const Command command =
      runs.add("rm",
               "Remove directories of runs, after a question. What is running stays, and so do "
               "sweeps.");
  RemoveArguments& remove = arguments->remove;
  command.argument("DIR", remove.folder, "The folder of the runs.");
  command.flag("--failed", remove.failed, "Those that failed or were killed.");
  command.argument("--keep", remove.keep, "All but this number of the newest.").not_negative();
  command.argument("--older", remove.older, "Those that began longer ago than this: 7d, 12h.");
  command.flag("--yes", remove.yes, "Do not ask.");
  command.run([arguments] {
    arguments->removing = true;
    return remove_runs(arguments->remove);
  });
}

void add_runs(const Command& program) {
  const auto arguments = std::make_shared<Arguments>();
  const Command command = program.add(
      "runs", "List runs and sweeps: what differs, how fast they were, and what held them up.");
  RunsArguments& list = arguments->list;
  command.argument("DIR", list.folder, "A folder with runs or sweeps in it, at any depth.");
  command.argument(
      "--sort", list.sort,
      "name, state, verdict, started, or a figure of summary.json, the largest first.");
  command.flag("--csv", list.csv, "Print CSV, with a column for each option that differs.");
  command.flag("--json", list.json, "Print JSON.");
  add_remove(command, arguments);
  command.run(
      [arguments] { return arguments->removing ? ExitCode::ok : print_runs(arguments->list); });
}

const RegisteredCommand runs_command("runs", add_runs);

}  // namespace
}  // namespace stoker
