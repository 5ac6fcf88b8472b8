#include "app/base/command_line.h"
#include "app/tools/darshan/darshan.h"

namespace stoker {
namespace {

constexpr const char* kFooter = R"(
A run with metrics.io_profile leaves a log of each session in its directory (io_profile*.darshan). Any log of
Darshan 3 can be read, too. The modules POSIX, STDIO, DXT_POSIX and HEATMAP are shown, and the others are only named.)";

void add_darshan(const Command& program) {
  const Command command = program.add(
      "darshan",
      "Show which files a run read and wrote, and how, from its I/O profile or any Darshan log.");
  command.footer(kFooter);
  DarshanArguments& arguments = command.run(show_darshan);
  command.argument("PATHS", arguments.sources, "Directories of runs, or Darshan logs.").required();
  command.argument("--files", arguments.files, "How many rows the table of files has at most.")
      .not_negative();
  command.argument("--output", arguments.output,
                   "Write what was read to this file, as a Darshan log of format 3.41.");
  command.argument("--trace", arguments.trace,
                   "Write each single read and write into trace.json in this directory. Each file "
                   "has a row of its own.");
  const Argument json = command.flag("--json", arguments.json, "Print JSON.");
  command
      .flag("--records", arguments.records,
            "Print every counter and every single read and write of every file, too.")
      .needs(json);
}

const RegisteredCommand darshan_command("darshan", add_darshan);

}  // namespace
}  // namespace stoker
