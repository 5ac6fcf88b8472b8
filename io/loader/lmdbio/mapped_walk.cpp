#include "io/loader/lmdbio/mapped_walk.h"

#include <fmt/format.h>

#include "io/core/error.h"
#include "io/loader/lmdbio/database_check.h"

namespace stoker {

MappedWalk::MappedWalk(const ReaderInputs& inputs) : inputs_(inputs) {
  const LmdbMeta meta = check_database(inputs_).meta;
  MDB_env* env = nullptr;
  check(::mdb_env_create(&env));
  env_.reset(env);
  const unsigned read_ahead = inputs_.options.read_ahead ? 0 : MDB_NORDAHEAD;
  check(::mdb_env_open(env, inputs_.path.c_str(),
                       MDB_NOSUBDIR | MDB_RDONLY | MDB_NOTLS | MDB_NOLOCK | read_ahead, 0));
  MDB_txn* transaction = nullptr;
  check(::mdb_txn_begin(env, nullptr, MDB_RDONLY, &transaction));
  transaction_.reset(transaction);
  // liblmdb may believe a meta that our reader does not.
  MDB_dbi database = 0;
  MDB_stat stat;
  check(::mdb_dbi_open(transaction, nullptr, 0, &database));
  check(::mdb_stat(transaction, database, &stat));
  if (::mdb_txn_id(transaction) != meta.transaction || stat.ms_entries != meta.entries ||
      stat.ms_psize != meta.page_bytes || stat.ms_depth != meta.depth) {
    throw_changed(inputs_, "liblmdb sees another transaction of it");
  }
  MDB_cursor* cursor = nullptr;
  check(::mdb_cursor_open(transaction, database, &cursor));
  cursor_.reset(cursor);
}

Bytes MappedWalk::walk_to(int64_t record) {
  if (at_ < 0 || record < at_) {
    move(MDB_FIRST);
    at_ = 0;
  }
  for (; at_ < record; ++at_) move(MDB_NEXT);
  const Range place = inputs_.records.place(inputs_.split, record);
  const auto* const value = static_cast<const uint8_t*>(value_.mv_data);
  if (map_ == nullptr) map_ = value - place.offset;
  if (value_.mv_size != place.length || value != map_ + place.offset) {
    throw_changed(inputs_, fmt::format("record {} lies elsewhere", record));
  }
  return {value, value_.mv_size};
}

void MappedWalk::move(MDB_cursor_op where) {
  MDB_val key;
  check(::mdb_cursor_get(cursor_.get(), &key, &value_, where));
}

void MappedWalk::check(int result) const {
  if (result > 0) throw_errno("map", inputs_.path, result);
  if (result < 0) throw_changed(inputs_, fmt::format("liblmdb: {}", ::mdb_strerror(result)));
}

}  // namespace stoker
