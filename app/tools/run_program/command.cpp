#include "app/base/registered_command.h"
#include "app/tools/run_program/run_program.h"

namespace stoker {
namespace {

constexpr const char* kFooter = R"(
The program is any one that is dynamically linked, with all processes that it starts. Its exit code is passed on,
128 + signal if a signal ended it; 127: there is no such program, 126: it cannot be executed. SIGINT, SIGTERM and
SIGHUP are passed on to it. The log is one of Darshan's, with a rank for each process: stoker darshan LOG.)";

void add_run(const Command& program) {
  const Command command =
      program.add("run",
                  "Run any program, count what it and its children read and write, file by file, "
                  "and say what holds it up: stoker run -- python train.py");
  command.footer(kFooter);
  RunProgramArguments& arguments = command.run(run_program);
  command.argument("--log", arguments.log,
                   "Where Darshan's log of all processes goes. The default is "
                   "stoker-run-PID.darshan in the current folder.");
  command.flag("--json", arguments.json,
               "Print what was seen as JSON, on standard output behind what the program prints.");
  command.argument("COMMAND", arguments.command, "The program and its words, behind --.")
      .required();
}

const RegisteredCommand run_command("run", add_run);

}  // namespace
}  // namespace stoker
