#include "app/commands/commands.h"
#include "app/train/checkpoint_listing.h"

namespace stoker {
namespace {

void add_shared(const Command& command, CheckpointArguments& arguments) {
  command
      .argument("WHERE", arguments.config,
                "experiment (YAML), a directory with step-... in it, or one of these")
      .required();
  command.overrides(arguments.overrides);
  command.flag("--json", arguments.json, "print JSON");
}

}  // namespace

void add_checkpoint(const Command& program) {
  const Command checkpoint = program.add_group("checkpoint", "Look at the checkpoints of a run");
  const auto listed = std::make_shared<CheckpointArguments>();
  const Command list = checkpoint.add("list", "Sets on every tier: step, state, age, size");
  add_shared(list, *listed);
  list.run([=] { return list_checkpoints(*listed); });

  const auto verified = std::make_shared<CheckpointArguments>();
  const Command verify = checkpoint.add(
      "verify", "Read every byte of the newest sets; exit code 5 where one is damaged");
  add_shared(verify, *verified);
  verify.flag("--all", verified->all, "every set, not only the newest");
  verify.run([=] { return verify_checkpoints(*verified); });
}

}  // namespace stoker
