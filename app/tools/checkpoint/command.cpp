#include "app/base/command_line.h"
#include "app/tools/checkpoint/convert.h"
#include "app/tools/checkpoint/diff.h"
#include "app/tools/checkpoint/listing.h"

namespace stoker {
namespace {

constexpr const char* kSources =
    "A set (step-...), a file of safetensors or its index, a file of torch.save, or a folder with "
    "model.safetensors.";

void add_shared(const Command& command, CheckpointArguments& arguments) {
  command
      .argument("WHERE", arguments.config,
                "An experiment (a YAML file), a directory that holds checkpoints (step-...), one "
                "checkpoint, or the prefix of one of TensorFlow's.")
      .required();
  command.overrides(arguments.overrides);
  command.flag("--json", arguments.json, "Print JSON.");
}

void add_list(const Command& checkpoint) {
  const Command list = checkpoint.add(
      "list", "List the checkpoints on every tier, each with its step, state, age and size.");
  add_shared(list, list.run(list_checkpoints));
}

void add_verify(const Command& checkpoint) {
  const Command verify = checkpoint.add("verify",
                                        "Read every byte of the newest checkpoint on each tier. "
                                        "The exit code is 5 if one is damaged.");
  CheckpointArguments& arguments = verify.run(verify_checkpoints);
  add_shared(verify, arguments);
  verify.flag("--all", arguments.all, "Verify every checkpoint, not only the newest.");
}

void add_diff(const Command& checkpoint) {
  const Command command = checkpoint.add("diff",
                                         "Compare two checkpoints, tensor by tensor: which differ, "
                                         "and how far, or that they are bit-identical.");
  DiffArguments& arguments = command.run(diff_checkpoints);
  command.argument("A", arguments.a, kSources).required();
  command.argument("B", arguments.b, "The other one, of any of these kinds.").required();
  command
      .argument(
          "--tolerance", arguments.tolerance,
          "Exit with code 7 where two values differ by more than this, or the tensors are not "
          "the same ones.")
      .not_negative();
  command.flag("--json", arguments.json, "Print JSON.");
}

void add_export(const Command& checkpoint) {
  const Command command = checkpoint.add("export",
                                         "Write the network's tensors of a checkpoint as plain "
                                         "safetensors, or as a file of torch.save.");
  ExportArguments& arguments = command.run(export_checkpoint);
  command.argument("FROM", arguments.from, kSources).required();
  command
      .argument("TO", arguments.to,
                "The new file, by whose end the format goes: .safetensors; .pt, .pth or .bin as "
                "torch.save writes it. A folder gets model.safetensors.")
      .required();
  command.flag("--all", arguments.all,
               "Every tensor of a set, the optimizer's too, under the names of the set.");
  command.argument("--max-shard", arguments.max_shard,
                   "Divide safetensors into files of at most this many bytes, with an index, as "
                   "transformers does.");
  command.flag("--json", arguments.json, "Print JSON.");
}

void add_import(const Command& checkpoint) {
  const Command command = checkpoint.add("import",
                                         "Make a checkpoint set of a file of safetensors or of "
                                         "torch.save.");
  ImportArguments& arguments = command.run(import_checkpoint);
  command.argument("FROM", arguments.from, kSources).required();
  command.argument("TO", arguments.to, "The directory of sets in which step-... is made.")
      .required();
  command.argument(
      "--like", arguments.like,
      "A set of the same network. Optimizer, generators and the record of the training "
      "are taken from it, so that a run can go on from the new set.");
  command.flag("--all", arguments.all,
               "The file has the names of a set (export --all), and not those of the network.");
  command.argument("--step", arguments.step, "The step of the new set; 0, or that of --like.")
      .not_negative();
  command.flag("--json", arguments.json, "Print JSON.");
}

void add_checkpoint(const Command& program) {
  const Command checkpoint = program.add_group(
      "checkpoint",
      "Look at the checkpoints of a run, compare them, and exchange them with PyTorch.");
  for (const auto add : {add_list, add_verify, add_diff, add_export, add_import}) add(checkpoint);
}

const RegisteredCommand checkpoint_command("checkpoint", add_checkpoint);

}  // namespace
}  // namespace stoker
