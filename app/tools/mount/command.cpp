#include "app/base/command_line.h"
#include "app/tools/mount/mount.h"

namespace stoker {
namespace {

constexpr const char* kMountFooter = R"(
The command ends on SIGTERM or SIGINT, or when DIR is unmounted. SIGUSR2 drops all cached pages. Reading the attribute
user.stoker.drop of DIR does the same, and returns when they are gone.)";

void add_mount(const Command& program) {
  const Command command =
      program.add("mount",
                  "Mount a tier as a read-only file system for other programs. Programs that read "
                  "an emulated tier wait as long as its device would take.");
  MountArguments& arguments = command.run(mount_tier);
  command.footer(kMountFooter);
  command.argument("CONFIG", arguments.config, "The experiment, a YAML file.").required();
  command.argument("TIER", arguments.tier, "Name of the tier, a key under storage:.").required();
  command.argument("DIR", arguments.directory, "An empty directory to mount the tier on.")
      .required();
  command.overrides(arguments.overrides);
  command
      .argument("--mode", arguments.mode,
                "What the page cache does. cached: it keeps what is read. direct: reads bypass it. "
                "drop: it keeps a file as long as a program has the file open.")
      .one_of({"cached", "direct", "drop"});
  command.argument("--read-ahead", arguments.read_ahead,
                   "How many bytes the kernel reads ahead, which is also its largest request to "
                   "the tier. The default is 128KiB.");
  command.flag("--allow-other", arguments.allow_other,
               "Let other users read the mounted tier, too.");
  command
      .argument("--threads", arguments.threads,
                "How many reads of the data may run at the same time.")
      .range(1, 1024);
  command.flag("--json", arguments.json, "Print what was read as one line of JSON.");
}

const RegisteredCommand mount_command("mount", add_mount);

}  // namespace
}  // namespace stoker
