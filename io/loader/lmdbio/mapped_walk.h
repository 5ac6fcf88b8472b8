#pragma once

#include <lmdb.h>

#include <cstdint>
#include <memory>
#include <string>

#include "io/core/system/memory.h"
#include "io/loader/lmdbio/database/lmdb_page.h"
#include "io/loader/lmdbio/record_reader.h"

namespace stoker {

// A database that is mapped by liblmdb, and walked by its cursor, record by record, as Caffe does:
// the only way to a record leads over all in front of it. One thread. Failures: as RecordReader;
// see the README for what a damaged file does to a mapped reader.
class MappedWalk {
 public:
  // Checks, opens and maps the file.
  explicit MappedWalk(const ReaderInputs& inputs);

  // The value of a record, in the map: forward from the last one, or from the first one on where it
  // lies behind. Touches no page of it.
  Bytes walk_to(int64_t record);

 private:
  void move(MDB_cursor_op where);
  void check(int result) const;

  const ReaderInputs inputs_;
  std::unique_ptr<MDB_env, void (*)(MDB_env*)> env_{nullptr, ::mdb_env_close};
  std::unique_ptr<MDB_txn, void (*)(MDB_txn*)> transaction_{nullptr, ::mdb_txn_abort};
  std::unique_ptr<MDB_cursor, void (*)(MDB_cursor*)> cursor_{nullptr, ::mdb_cursor_close};
  int64_t at_ = -1;
  MDB_val value_{};
  const uint8_t* map_ = nullptr;  // as the first record says
};

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
