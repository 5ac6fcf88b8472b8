#include "app/base/command_line.h"
#include "app/tools/size/size.h"

namespace stoker {
namespace {

constexpr const char* kSizeFooter = R"(
For example:  stoker size --images-per-s 2500 --gpus 8 --data jpeg,110KB
A tier of your own:  stoker bench storage CONFIG TIER --fit --json > disk.json
                     stoker size --images-per-s 2500 --gpus 8 --data FOLDER --measure --tier disk.json
a.b=c changes an input of the simulation, such as workload.data.requests=2 or machine.page_cache=64GiB.)";

void add_size(const Command& program) {
  const Command command = program.add(
      "size",
      "Say how many cores, how many workers, how much memory and which storage a number of "
      "GPUs need, so that they do not wait for data.");
  SizeArguments& arguments = command.run(size_node);
  command.footer(kSizeFooter);
  command
      .argument(
          "--images-per-s", arguments.images_per_s,
          "How many images a second one GPU takes. With --run, the default is the rate of its "
          "device.")
      .not_negative();
  command
      .argument("--gpus", arguments.gpus,
                "Number of GPUs of each node. With --run, the default is its number of ranks.")
      .range(0, 100000);
  command.argument("--nodes", arguments.nodes, "Number of nodes, which share a tier.")
      .range(1, 100000);
  const Argument data = command.argument(
      "--data", arguments.data,
      "A folder of data, or the format and the size of a sample, such as jpeg,110KB.");
  command
      .argument("--run", arguments.config,
                "The directory of a measured run, which says what is read and what it costs.")
      .excludes(data);
  command.overrides(arguments.overrides);
  command
      .argument("--batch-size", arguments.batch_size,
                "Samples of one GPU in a batch. 0: as in the run, or 256.")
      .range(0, 1000000);
  const Argument decode =
      command.argument("--decode-ms", arguments.decode_ms,
                       "Milliseconds in which one core decodes and augments a sample.");
  command.flag("--measure", arguments.measure, "Decode samples of --data FOLDER on this machine.")
      .needs(data)
      .excludes(decode);
  command.argument("--cores", arguments.cores,
                   "Cores of each node. Without it, the node is given those that it needs.");
  command
      .argument("--trainer-cores", arguments.trainer_cores,
                "Cores that are kept for each GPU, for the thread that submits its steps.")
      .between(0, 1000);
  command.argument("--workers", arguments.workers,
                   "Workers of each GPU. Without it, each tier is given those that it needs.");
  command
      .argument("--tier", arguments.tiers,
                "A file that says what a tier can do, from `stoker bench storage --fit`. It can be "
                "given more than once.")
      .one_each();
  command.flag("--json", arguments.json, "Print one line of JSON.");
}

const RegisteredCommand size_command("size", add_size);

}  // namespace
}  // namespace stoker
