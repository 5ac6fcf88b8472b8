#include "app/base/tool_command.h"
#include "app/tools/advise/advise.h"

namespace stoker {
namespace {

constexpr const char* kAdviseFooter = R"(
The plan is obeyed by a tier of type cached with order: plan, and by `stoker dataset stage`. What reads of a tier
cost is known of emulated tiers; of others: stoker bench storage CONFIG TIER --fit --json > FILE. Without --capacity
and --max-file, of a run that staged by a plan: what its epochs took, beside what was predicted.)";

void add_advise(const Command& program) {
  const Command command = program.add(
      "advise", "Say which objects to stage on a fast tier for the most time saved; write a plan");
  AdviseArguments& arguments = command.run(advise);
  command.footer(kAdviseFooter);
  command.argument("WHERE", arguments.config, "a run's directory, or an experiment, a YAML file")
      .required();
  command.overrides(arguments.overrides);
  const Argument capacity =
      command.argument("--capacity", arguments.capacity, "bytes that may be staged");
  command
      .argument("--max-file", arguments.max_file,
                "instead, the rule: all objects below so many bytes")
      .excludes(capacity);
  command.argument("--fast", arguments.fast,
                   "tier to stage on, its name under storage:; default: `in` of the cached tier");
  command.argument("--slow-fit", arguments.slow_fit,
                   "what reads of the slow tier cost: the output of bench storage --fit --json");
  command.argument("--fast-fit", arguments.fast_fit, "the same of the fast tier");
  command.argument(
      "--profile", arguments.profile,
      "what was seen of reads, in the place of what the configuration says: a log of "
      "Darshan's, or a run's directory; none: nothing; default: the run's own, where it "
      "kept one");
  command.argument("--output", arguments.output, "the plan's file");
  command.flag("--auto", arguments.automatic,
               "train by the plan, which stages during the first epoch, what is read soonest "
               "first; show what came of the prediction");
  command.flag("--json", arguments.json, "print one line of JSON");
}

const ToolCommand advise_command("advise", add_advise);

}  // namespace
}  // namespace stoker
