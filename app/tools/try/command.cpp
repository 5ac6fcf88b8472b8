#include "app/base/command_line.h"
#include "app/tools/try/try.h"

namespace stoker {
namespace {

constexpr const char* kTryFooter = R"(
For example:  stoker try ~/photographs
Only names and a part of the files are looked at, and nothing in the folder is changed. a.b=c changes
the experiment that is written, such as device.type=cuda or model.type=resnet18.)";

void add_try(const Command& program) {
  const Command command = program.add(
      "try",
      "Look at a folder of data without an experiment file: what is in it, how fast this "
      "machine reads, decodes and trains with it, and what binds. Writes the experiment.");
  TryArguments& arguments = command.run(try_data);
  command.footer(kTryFooter);
  command
      .argument("DIR", arguments.config,
                "A folder of images, with or without a folder for each class, or of shards.")
      .required();
  command.overrides(arguments.overrides, "experiment");
  command.argument("--to", arguments.to,
                   "Where the experiment is written. Without it, that is NAME.yaml here.");
  command.flag("--json", arguments.json, "Print the result as one line of JSON.");
}

const RegisteredCommand try_command("try", add_try);

}  // namespace
}  // namespace stoker
