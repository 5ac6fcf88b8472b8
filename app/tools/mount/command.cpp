#include "app/base/tool_command.h"
#include "app/tools/mount/mount.h"

namespace stoker {
namespace {

constexpr const char* kMountFooter = R"(
Ends on SIGTERM or SIGINT, or when DIR is unmounted. SIGUSR2 drops all pages, and so does reading
the attribute user.stoker.drop of DIR, which returns when they are gone.)";

void add_mount(const Command& program) {
  const Command command = program.add(
      "mount",
      "A tier as a read-only file system for other programs; an emulated one's readers wait");
  MountArguments& arguments = command.run(mount_tier);
  command.footer(kMountFooter);
  command.argument("CONFIG", arguments.config, "experiment, a YAML file").required();
  command.argument("TIER", arguments.tier, "its name under storage:").required();
  command.argument("DIR", arguments.directory, "an empty directory").required();
  command.overrides(arguments.overrides);
  command
      .argument(
          "--mode", arguments.mode,
          "cached: the page cache keeps what is read; direct: reads pass it by; drop: it keeps "
          "a file as long as somebody has it open")
      .one_of({"cached", "direct", "drop"});
  command.argument("--read-ahead", arguments.read_ahead,
                   "bytes the kernel reads ahead, the most of one request of the page cache; "
                   "default 128KiB");
  command.flag("--allow-other", arguments.allow_other, "other users may read it, too");
  command.argument("--threads", arguments.threads, "reads of the data at once").range(1, 1024);
  command.flag("--json", arguments.json, "print what was read as one line of JSON");
}

const ToolCommand mount_command("mount", add_mount);

}  // namespace
}  // namespace stoker
