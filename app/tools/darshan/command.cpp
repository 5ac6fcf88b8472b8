#include "app/base/tool_command.h"
#include "app/tools/darshan/darshan.h"

namespace stoker {
namespace {

constexpr const char* kFooter = R"(
A run with metrics.io_profile leaves a log of each session in its directory (io_profile*.darshan). Any log of
Darshan 3 will do, too. Of its modules, POSIX, STDIO and DXT_POSIX are read; the others are named.)";

void add_darshan(const Command& program) {
  const Command command = program.add(
      "darshan",
      "What files a run read and wrote, and how: its I/O profile, or any log of Darshan's");
  command.footer(kFooter);
  DarshanArguments& arguments = command.run(show_darshan);
  command.argument("PATHS", arguments.sources, "runs (their directories), or logs").required();
  command.argument("--files", arguments.files, "rows of the table of files").not_negative();
  command.argument("--output", arguments.output,
                   "write what is read as a log of format 3.41 to this file");
  command.argument(
      "--trace", arguments.trace,
      "write single reads and writes, a row for each file, as trace.json into this directory");
  const Argument json = command.flag("--json", arguments.json, "print JSON");
  command
      .flag("--records", arguments.records,
            "with --json: every counter and every single read and write of every file")
      .needs(json);
}

const ToolCommand darshan_command("darshan", add_darshan);

}  // namespace
}  // namespace stoker
