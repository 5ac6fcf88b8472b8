#include "io/loader/lmdbio/database/lmdb_file.h"

#include <fmt/format.h>
#include <lmdb.h>

#include <utility>

#include "io/core/error.h"
#include "io/core/system/file.h"

namespace stoker {
namespace {

constexpr int64_t kTransactionEntries = 1000;
// Pages of the tree that one entry may take: twice as many as a tree of eight levels takes that
// splits at each of them.
constexpr uint64_t kTreePages = 32;
// The map costs addresses alone, and must not end inside of a transaction.
constexpr uint64_t kFirstMapPages = uint64_t{1} << 19;
// Keys have eight digits, in whose order they lie.
constexpr int64_t kMostSamples = 100'000'000;

MDB_val value_of(const std::string& bytes) {
  return {bytes.size(), const_cast<char*>(bytes.data())};
}

}  // namespace

struct LmdbFile::Handles {
  struct Close {
    void operator()(MDB_env* env) const { ::mdb_env_close(env); }
    void operator()(MDB_txn* transaction) const { ::mdb_txn_abort(transaction); }
  };
  std::unique_ptr<MDB_env, Close> env;
  std::unique_ptr<MDB_txn, Close> transaction;
  MDB_dbi database = 0;
};

LmdbFile::LmdbFile(std::string path, uint64_t most_pages)
    : path_(std::move(path)),
      most_pages_(most_pages),
      lmdb_(std::make_unique<Handles>()),
      map_pages_(kFirstMapPages) {
  MDB_env* env = nullptr;
  check(::mdb_env_create(&env));
  lmdb_->env.reset(env);
  check(::mdb_env_open(env, path_.c_str(), MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC, 0644));
  MDB_stat stat;
  check(::mdb_env_stat(env, &stat));
  page_bytes_ = stat.ms_psize;
  check(::mdb_env_set_mapsize(env, map_pages_ * page_bytes_));
}

LmdbFile::~LmdbFile() = default;

void LmdbFile::add(std::string_view name, const std::string& value) {
  const std::string key = fmt::format("{:08}_{}", samples_, name);
  const auto fail = [&](const std::string& why) {
    throw Error(ExitCode::data, fmt::format("sample {}: {}", name, why));
  };
  const auto most = static_cast<size_t>(::mdb_env_get_maxkeysize(lmdb_->env.get()));
  if (key.size() > most) fail(fmt::format("its key is longer than LMDB's {} bytes", most));
  if (samples_ == kMostSamples) fail("an LMDB database holds 100,000,000 samples at most");
  make_room(value.size() / page_bytes_ + 1);
  if (!lmdb_->transaction) begin();
  MDB_val at = value_of(key), is = value_of(value);
  check(::mdb_put(lmdb_->transaction.get(), lmdb_->database, &at, &is, MDB_APPEND));
  ++samples_;
  ++entries_;
}

void LmdbFile::finish() {
  commit_transaction();
  lmdb_->env.reset();
}

// The map can only grow between two transactions.
void LmdbFile::make_room(uint64_t pages) {
  const bool fits = used_pages_ + pages + kTreePages <= map_pages_;
  if (!fits || entries_ == kTransactionEntries || pending_pages_ > most_pages_) {
    commit_transaction();
    MDB_envinfo info;
    check(::mdb_env_info(lmdb_->env.get(), &info));
    used_pages_ = info.me_last_pgno + 1;
    const uint64_t before = map_pages_;
    while (used_pages_ + pages + kTreePages > map_pages_ / 2) map_pages_ *= 2;
    if (map_pages_ != before) {
      check(::mdb_env_set_mapsize(lmdb_->env.get(), map_pages_ * page_bytes_));
    }
  }
  used_pages_ += pages + kTreePages;
  pending_pages_ += pages;
}

void LmdbFile::begin() {
  MDB_txn* transaction = nullptr;
  check(::mdb_txn_begin(lmdb_->env.get(), nullptr, 0, &transaction));
  lmdb_->transaction.reset(transaction);
  check(::mdb_dbi_open(transaction, nullptr, 0, &lmdb_->database));
}

void LmdbFile::commit_transaction() {
  entries_ = 0;
  pending_pages_ = 0;
  if (lmdb_->transaction) check(::mdb_txn_commit(lmdb_->transaction.release()));
}

void LmdbFile::check(int result) const {
  if (result > 0) throw_errno("write", path_, result);
  if (result < 0) throw IoError(fmt::format("write {}: {}", path_, ::mdb_strerror(result)), 0);
}

}  // namespace stoker
