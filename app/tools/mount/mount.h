#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/base/command_line.h"
#include "io/core/config/config.h"
#include "io/core/error.h"

namespace stoker {

// What `stoker mount` is asked for. A value.
struct MountArguments : ConfigArguments {
  // Its name under storage:.
  std::string tier;
  // An empty directory.
  std::string directory;
  std::string mode = "cached";  // or "direct", "drop"
  // Absent: the kernel's own.
  std::optional<ByteSize> read_ahead;
  bool allow_other = false;
  // Reads of the data at once.
  int64_t threads = 16;
};

// `stoker mount`: a tier as a read-only file system, until SIGTERM, SIGINT, SIGHUP or SIGUSR1 or
// until somebody unmounts it (ExitCode::ok). SIGUSR2 drops all pages. Prints what was read. Error
// (environment where it cannot be mounted), IoError.
ExitCode mount_tier(const MountArguments& arguments);

}  // namespace stoker
