#include "app/base/command_line.h"
#include "app/tools/serve/serve.h"

namespace stoker {
namespace {

void add_serve(const Command& program) {
  const Command command = program.add("serve",
                                      "Show runs and sweeps in a browser: the list of `stoker "
                                      "runs`, the run that is under way, and "
                                      "reports of one run or of several side by side.");
  ServeArguments& arguments = command.run(serve);
  command.argument("DIR", arguments.folder, "A folder with runs or sweeps in it, at any depth.");
  command.argument("--listen", arguments.listen,
                   "The address and port. The default is 127.0.0.1:9470, or another port where "
                   "that is taken.");
}

const RegisteredCommand serve_command("serve", add_serve);

}  // namespace
}  // namespace stoker
