#include "app/base/command_line.h"
#include "app/tools/cold/cold.h"

namespace stoker {
namespace {

constexpr const char* kColdFooter = R"(
Exit code 7: --evict or --certify was given, and not all bytes are known to be cold. tmpfs never is; of FUSE, NFS,
Lustre, ZFS and their like only this machine's own page cache can be seen, so they cannot be certified.)";

void add_cold(const Command& program) {
  const Command command = program.add(
      "cold", "Show which part of files is in the page cache; evict it, certify that none is.");
  ColdArguments& arguments = command.run(show_cold);
  command.footer(kColdFooter);
  command.argument("PATH", arguments.paths, "Files, and folders with all that is below them.")
      .required();
  command.flag("--evict", arguments.evict,
               "Drop these files, and no others, from the page cache. What is dirty is written to "
               "its device first. What stays is listed, with the reason.");
  command.flag("--certify", arguments.certify,
               "Fail unless every byte is known to be cold, and say which are not.");
  command.flag("--files", arguments.files,
               "A row for each file. Else a folder has a row for each of its entries.");
  command.flag("--ranges", arguments.ranges, "The same, and which bytes are cached.");
  command.argument("--top", arguments.top, "Show this many rows, the most cached first; 0: all.")
      .not_negative();
  command.flag("--json", arguments.json, "Print JSON.");
}

const RegisteredCommand cold_command("cold", add_cold);

}  // namespace
}  // namespace stoker
