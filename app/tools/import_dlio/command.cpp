#include "app/base/command_line.h"
#include "app/tools/import_dlio/import_dlio.h"

namespace stoker {
namespace {

constexpr const char* kFooter = R"(
For example:
  stoker import-dlio unet3d_h100.yaml dataset.num_files_train=56 --generate /mnt/tier/unet3d --to unet3d.yaml
  stoker train unet3d.yaml
  stoker import-dlio unet3d_h100.yaml dataset.num_files_train=56 --run runs/unet3d-...
The experiment goes to standard output without --to. What is otherwise than in DLIO stands at its head, and on standard
error, with the rules of MLPerf Storage that are not kept. A workload of checkpoints becomes a command line.)";

void add_import(const Command& program) {
  const Command command =
      program.add("import-dlio",
                  "Make an experiment of a workload of DLIO or MLPerf Storage, generate its data, "
                  "and compute the AU of a run as DLIO does.");
  ImportDlioArguments& arguments = command.run(import_dlio);
  command.footer(kFooter);
  command.argument("WORKLOAD", arguments.config, "The workload, a YAML file of DLIO's.").required();
  command.overrides(arguments.overrides, "workload");
  command.argument("--to", arguments.to, "File to write the experiment to.");
  const Argument data = command.argument(
      "--data", arguments.data, "Folder that holds the data, instead of dataset.data_folder.");
  const Argument generate =
      command.argument("--generate", arguments.generate,
                       "Folder to write the data to, which the experiment then reads.");
  generate.excludes(data);
  command
      .argument("--run", arguments.run,
                "Directory of a run of the experiment: print its AU as DLIO computes it, what "
                "bounded it, and what was cold.")
      .excludes(generate);
  command
      .argument("--memory", arguments.memory,
                "GiB of memory of each machine, for the rules. The default is that of this one.")
      .positive();
  command.argument("--hosts", arguments.hosts, "Number of machines, for the rules.").positive();
  command
      .argument("--accelerators", arguments.accelerators,
                "Number of accelerators on all of them, for the rules.")
      .range(1, 1'000'000);
  command.flag("--json", arguments.json, "Print the result as one line of JSON.");
}

const RegisteredCommand import_command("import-dlio", add_import);

}  // namespace
}  // namespace stoker
