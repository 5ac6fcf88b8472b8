#pragma once

#include <cstdint>
#include <string>

#include "io/checkpoint/sets/set_files.h"
#include "io/core/system/memory.h"
#include "io/storage/storage.h"

// What a tier does for a checkpoint by itself: the same requests, and nothing is summed or kept.

namespace stoker {

// Writes a file of these bytes as a set is written, 8 MiB at once by so many threads past the page
// cache, and syncs it; on a tier without files one object. Returns the seconds that this took, and
// removes it. `directory` is made. IoError.
double write_plainly(Storage& tier, const std::string& directory, Bytes bytes, int64_t threads);

// Reads all files of the set in `directory` by the requests of load_files(). IoError.
void read_plainly(const SetFiles& from, const std::string& directory, int64_t threads);

}  // namespace stoker
