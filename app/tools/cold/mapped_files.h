#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace stoker {

// A file as the kernel tells it: device and inode number.
using FileNumber = std::pair<uint64_t, uint64_t>;

// Which process has mapped which file: "python3 (4711)", one of them where there are several.
// Processes that this user may not look at are left out. Reads /proc; any thread.
std::map<FileNumber, std::string> mapped_files();

}  // namespace stoker
