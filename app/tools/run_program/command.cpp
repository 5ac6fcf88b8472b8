#include "app/base/command_line.h"
#include "app/tools/run_program/run_program.h"

namespace stoker {
namespace {

constexpr const char* kFooter = R"(
The program is any one that is dynamically linked, with all processes that it starts. Its exit code is passed on,
128 + signal if a signal ended it; 127: there is no such program, 126: it cannot be executed. SIGINT, SIGTERM and
SIGHUP are passed on to it. The log is one of Darshan's, with a rank for each process: stoker darshan LOG.)";

void add_tiers(const Command& command, RunProgramArguments& arguments) {
  command
      .argument("--tier", arguments.tiers,
                "FOLDER=TIER: the program sees the folder, read-only, as if it were on such a "
                "device: hdd, ssd, optane, lustre, nfs, s3-like, or a mapping of figures "
                "({profile: ssd, read_mb_per_s: 50}). In a mount namespace of its own; users other "
                "than root need user namespaces and /dev/fuse. May be given several times.")
      .one_each();
  command
      .argument("--tier-cache", arguments.tier_cache,
                "What the page cache does with such folders. drop: it keeps a file as long as the "
                "program has it open, so that each epoch is cold. cached: it keeps what is read. "
                "direct: reads bypass it.")
      .one_of({"drop", "cached", "direct"});
}

void add_attaching(const Command& command, RunProgramArguments& arguments) {
  command
      .argument("--pid", arguments.pid,
                "Count a program that runs already, and the processes that it has started, by the "
                "rights that a debugger needs, until Ctrl-C or its end; then it goes on as before. "
                "What it forks is counted, what it executes is not. x86-64, dynamically linked "
                "with glibc.")
      .positive();
  command.argument("--seconds", arguments.seconds, "With --pid: for so long.").positive();
}

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
  add_tiers(command, arguments);
  add_attaching(command, arguments);
  command.argument("COMMAND", arguments.command, "The program and its words, behind --.");
}

const RegisteredCommand run_command("run", add_run);

}  // namespace
}  // namespace stoker
