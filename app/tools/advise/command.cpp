#include "app/base/command_line.h"
#include "app/tools/advise/advise.h"

namespace stoker {
namespace {

constexpr const char* kAdviseFooter = R"(
A tier of type cached with order: plan obeys the plan, and so does `stoker dataset stage`. For an emulated tier, the
costs of its reads are known. For any other, measure them: stoker bench storage CONFIG TIER --fit --json > FILE. Without
--capacity and --max-file, WHERE is a run that staged by a plan: its epochs' times are shown beside the prediction.)";

void add_advise(const Command& program) {
  const Command command = program.add("advise",
                                      "Say which objects save the most time when they are staged "
                                      "on a fast tier, and write a plan.");
  AdviseArguments& arguments = command.run(advise);
  command.footer(kAdviseFooter);
  command
      .argument("WHERE", arguments.config,
                "The directory of a run, or an experiment (a YAML file).")
      .required();
  command.overrides(arguments.overrides);
  const Argument capacity =
      command.argument("--capacity", arguments.capacity, "How many bytes may be staged.");
  command
      .argument("--max-file", arguments.max_file,
                "Stage every object that is smaller than this, instead of filling a capacity.")
      .excludes(capacity);
  command.argument("--fast", arguments.fast,
                   "Name of the tier to stage on, a key under storage:. By default it is the tier "
                   "`in` of the cached tier.");
  command.argument(
      "--slow-fit", arguments.slow_fit,
      "File that says what reads of the slow tier cost: the output of bench storage --fit --json.");
  command.argument("--fast-fit", arguments.fast_fit, "The same for the fast tier.");
  command.argument("--profile", arguments.profile,
                   "Count reads from this Darshan log or run directory instead of deriving them "
                   "from the configuration. The word none always derives them. By default the "
                   "run's own log is used, if it has one.");
  command.argument("--output", arguments.output, "File to write the plan to.");
  command.flag("--auto", arguments.automatic,
               "Train with the plan, and compare the times with the prediction. The first epoch "
               "stages the objects, beginning with those that are read first.");
  command.flag("--json", arguments.json, "Print the result as one line of JSON.");
}

const RegisteredCommand advise_command("advise", add_advise);

}  // namespace
}  // namespace stoker
