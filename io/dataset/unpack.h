#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "io/core/system/memory.h"

namespace stoker {

// One file of an archive, in memory. A value. `path` is relative, cleaned ("a/b.jpg") and never
// leads out of the folder that it is put into.
struct UnpackedFile {
  std::string path;
  std::vector<uint8_t> bytes;
};

// Passes the regular files of an archive, in its order, to `sink`. The archive is a tar.gz, or a
// zip that holds a tar.gz named `inner` (in any folder). Nothing is written to disk on the way, and
// one file is in memory at a time, beside what the sink keeps. Any thread.
//
// Error(ExitCode::environment): the file cannot be read, is damaged or is no such archive; a path
// that is absolute or has ".."; a file above 64 MiB. What `sink` throws passes through.
void unpack(const std::string& archive, const std::string& inner,
            const std::function<void(UnpackedFile)>& sink);
// The same for an archive in memory; `name` is for messages.
void unpack(Bytes archive, const std::string& name, const std::string& inner,
            const std::function<void(UnpackedFile)>& sink);

}  // namespace stoker
