#pragma once

#include <cstdint>
#include <string>

#include "io/loader/lmdbio/database/lmdb_page.h"
#include "io/loader/lmdbio/record_reader.h"

namespace stoker {

// A database that may be mapped. A value.
struct MappableDatabase {
  LmdbMeta meta;
  // The bytes of its file.
  uint64_t bytes = 0;
};

// Looks by our own reader, before anybody maps it, whether it is still the database that the data
// set verified, as far as its metas and its size tell; where pages are missing at its end, whether
// it needs them. Error(ExitCode::data) where it is not; ExitCode::config if it is not a file of
// this machine.
MappableDatabase check_database(const ReaderInputs& inputs);

// Error(ExitCode::data): it is not what it was when it was verified.
[[noreturn]] void throw_changed(const ReaderInputs& inputs, const std::string& what);

}  // namespace stoker
