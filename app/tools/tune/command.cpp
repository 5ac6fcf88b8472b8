#include "app/base/command_line.h"
#include "app/tools/tune/tune.h"

namespace stoker {
namespace {

constexpr const char* kTuneFooter = R"(
For example:  stoker tune experiment.yaml --write tuned.yaml
              stoker tune experiment.yaml --least-memory --same-results
              stoker tune experiment.yaml --or "dataset.type=lmdb dataset.path=train.lmdb"
Call it in the directory in which the training is started, because paths of the configuration may be relative. Checkpoints
and evaluations are left out of the runs. --json has all that was tried.)";

void add_tune(const Command& program) {
  const Command command = program.add(
      "tune",
      "Choose the loader, its workers and batches ahead, the tier and what is kept in memory for "
      "the most images a second, by measurement, prediction and a few short runs.");
  TuneArguments& arguments = command.run(tune);
  command.footer(kTuneFooter);
  command.config(arguments);
  command.argument("--seconds", arguments.seconds, "How long the whole search may take.")
      .between(3, 86400);
  command.flag("--least-memory", arguments.least_memory,
               "Choose the least memory that gives 99 % of the best rate.");
  command.flag("--same-results", arguments.same_results,
               "Choose among settings that change no batch and no pixel.");
  command
      .argument("--or", arguments.alternatives,
                "Overrides, in one word, that lead to the same data in another format or on "
                "another tier. It can be given more than once.")
      .one_each();
  command.argument("--write", arguments.write,
                   "Write the experiment with what was chosen to this file.");
}

const RegisteredCommand tune_command("tune", add_tune);

}  // namespace
}  // namespace stoker
