#pragma once

#include <fcntl.h>
#include <lmdb.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/temporary_directory.h"

namespace stoker {

using LmdbEntries = std::vector<std::pair<std::string, std::string>>;  // key, value

inline void lmdb_check(int result) {
  if (result != 0) throw std::runtime_error(::mdb_strerror(result));
}
inline MDB_val lmdb_value(const std::string& bytes) {
  return {bytes.size(), const_cast<char*>(bytes.data())};
}

// A database that liblmdb makes, in a file of its own. One thread.
class LmdbDatabase {
 public:
  explicit LmdbDatabase(size_t map_bytes = size_t{1} << 30) {
    MDB_env* env = nullptr;
    lmdb_check(::mdb_env_create(&env));
    env_.reset(env);
    lmdb_check(::mdb_env_set_mapsize(env, map_bytes));
    lmdb_check(::mdb_env_set_maxdbs(env, 4));
    const std::string path = folder_ / "data.mdb";
    lmdb_check(::mdb_env_open(env, path.c_str(), MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC, 0600));
  }

  // One transaction; flags: those of the main database.
  template <class F>
  void transaction(const F& change, unsigned flags = 0, const char* name = nullptr) {
    MDB_txn* txn = nullptr;
    MDB_dbi dbi = 0;
    lmdb_check(::mdb_txn_begin(env_.get(), nullptr, 0, &txn));
    lmdb_check(::mdb_dbi_open(txn, name, flags | (name == nullptr ? 0 : MDB_CREATE), &dbi));
    change(txn, dbi);
    lmdb_check(::mdb_txn_commit(txn));
  }
  void put(const LmdbEntries& entries, unsigned flags = 0, const char* name = nullptr) {
    transaction(
        [&](MDB_txn* txn, MDB_dbi dbi) {
          for (const auto& [key, bytes] : entries) {
            MDB_val name_of = lmdb_value(key), value = lmdb_value(bytes);
            lmdb_check(::mdb_put(txn, dbi, &name_of, &value, 0));
          }
        },
        flags, name);
  }
  void remove(const std::vector<std::string>& keys) {
    transaction([&](MDB_txn* txn, MDB_dbi dbi) {
      for (const std::string& key : keys) {
        MDB_val name = lmdb_value(key);
        lmdb_check(::mdb_del(txn, dbi, &name, nullptr));
      }
    });
  }
  // Records of which record(i) gives key and value, so many a transaction, with these flags of
  // mdb_put().
  template <class F>
  void write(int64_t records, int64_t per_transaction, const F& record, unsigned flags) {
    for (int64_t next = 0; next < records;) {
      transaction([&](MDB_txn* txn, MDB_dbi dbi) {
        for (int64_t i = 0; i < per_transaction && next < records; ++i, ++next) {
          const auto [key, bytes] = record(next);
          MDB_val name_of = lmdb_value(key), value = lmdb_value(bytes);
          lmdb_check(::mdb_put(txn, dbi, &name_of, &value, flags));
        }
      });
    }
  }
  // A copy without free pages.
  void compact_into(const std::string& file) const {
    const std::string path = folder_ / file;
    const int fd = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    const int result = ::mdb_env_copyfd2(env_.get(), fd, MDB_CP_COMPACT);
    ::close(fd);
    lmdb_check(result);
  }
  // Where its file is, data.mdb.
  std::string folder() const { return folder_.path(); }
  // As its file is now.
  std::string bytes() const { return folder_.read("data.mdb"); }

 private:
  const TemporaryDirectory folder_;
  std::unique_ptr<MDB_env, void (*)(MDB_env*)> env_{nullptr, ::mdb_env_close};
};

// What liblmdb finds in a file of these bytes, in its order.
inline LmdbEntries walk_by_liblmdb(const std::string& file) {
  const TemporaryDirectory folder;
  folder.write("data.mdb", file);
  MDB_env* env = nullptr;
  lmdb_check(::mdb_env_create(&env));
  const std::unique_ptr<MDB_env, void (*)(MDB_env*)> closed(env, ::mdb_env_close);
  const std::string path = folder / "data.mdb";
  lmdb_check(::mdb_env_open(env, path.c_str(), MDB_NOSUBDIR | MDB_NOLOCK | MDB_RDONLY, 0600));
  MDB_txn* txn = nullptr;
  MDB_dbi dbi = 0;
  MDB_cursor* cursor = nullptr;
  lmdb_check(::mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn));
  lmdb_check(::mdb_dbi_open(txn, nullptr, 0, &dbi));
  lmdb_check(::mdb_cursor_open(txn, dbi, &cursor));
  LmdbEntries entries;
  const auto text = [](const MDB_val& value) {
    return std::string(static_cast<const char*>(value.mv_data), value.mv_size);
  };
  MDB_val key, value;
  while (::mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) {
    entries.emplace_back(text(key), text(value));
  }
  ::mdb_cursor_close(cursor);
  ::mdb_txn_abort(txn);
  return entries;
}

}  // namespace stoker
