#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "app/tools/checkpoint/files/input_file.h"

namespace stoker {

// An entry of a zip that is stored as it is. A value.
struct StoredEntry {
  uint64_t offset = 0;  // of its bytes in the archive
  uint64_t bytes = 0;
  uint32_t crc32 = 0;
};

// The entries of a zip, by name: where the bytes of each lie, so that any part of any can be read.
// libarchive, which the data sets use, gives an archive's bytes in their order only, and has no
// offsets; torch.save stores its entries, and needs no more than this. ZIP64 is read. Refused by
// Error(ExitCode::storage), with what is there instead: what is compressed or encrypted, entries
// that lie beyond the archive or in each other, a name that occurs twice.
std::map<std::string, StoredEntry> read_zip(const InputFile& file);

}  // namespace stoker
