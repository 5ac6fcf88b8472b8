#include "io/dataset/lmdb/lmdb_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <lmdb.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "io/core/error.h"
#include "io/core/file.h"
#include "io/dataset/lmdb/datum.h"

namespace stoker {
namespace {

// Entries and pages of a transaction: liblmdb keeps its pages in memory. Caffe commits as often.
constexpr int64_t kTransactionEntries = 1000;
constexpr uint64_t kTransactionPages = 16384;
// Of the tree, for one entry; twice what a tree of eight levels that splits at each of them takes.
constexpr uint64_t kTreePages = 32;
// Keys have eight digits, in whose order they lie.
constexpr int64_t kMostSamples = 100'000'000;

// A new folder, which goes with what is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    path_ = (std::filesystem::temp_directory_path() / "stoker-lmdb-XXXXXX").string();
    if (::mkdtemp(path_.data()) == nullptr) throw_errno("make", path_, errno);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

MDB_val value_of(const std::string& bytes) {
  return {bytes.size(), const_cast<char*>(bytes.data())};
}

class LmdbWriter final : public ShardWriter {
 public:
  LmdbWriter(Storage& to, const std::string& key)
      : writer_(to.create(key)), file_(folder_.path() + "/data.mdb") {
    MDB_env* env = nullptr;
    check(::mdb_env_create(&env));
    env_.reset(env);
    check(::mdb_env_open(env, file_.c_str(), MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC, 0600));
    MDB_stat stat;
    check(::mdb_env_stat(env, &stat));
    page_bytes_ = stat.ms_psize;
    check(::mdb_env_set_mapsize(env, map_pages_ * page_bytes_));
  }

  void add(const SampleToWrite& sample) override {
    const std::string key = fmt::format("{:08}_{}", samples_, sample.key);
    check_sample(sample, key);
    const std::string datum = encoded_datum(sample.bytes, static_cast<int32_t>(sample.label));
    make_room(datum.size() / page_bytes_ + kTreePages);
    if (!transaction_) begin();
    MDB_val name = value_of(key), value = value_of(datum);
    check(::mdb_put(transaction_.get(), database_, &name, &value, MDB_APPEND));
    ++samples_;
    ++entries_;
  }

  void commit() override {
    commit_transaction();
    env_.reset();
    const FileDescriptor made = open_file("read", file_, O_RDONLY);
    Buffer block;
    for (;;) {
      block.resize(size_t{4} << 20);
      const ssize_t count =
          uninterrupted([&] { return ::read(made.get(), block.data(), block.size()); });
      if (count < 0) throw_errno("read", file_, errno);
      if (count == 0) break;
      writer_->append(block.bytes().first(static_cast<size_t>(count)));
    }
    writer_->commit();
  }

 private:
  void check_sample(const SampleToWrite& sample, const std::string& key) const {
    const auto fail = [&](const std::string& why) {
      throw Error(ExitCode::data, fmt::format("sample {}: {}", sample.key, why));
    };
    const auto most = static_cast<size_t>(::mdb_env_get_maxkeysize(env_.get()));
    if (key.size() > most) fail(fmt::format("its key is longer than LMDB's {} bytes", most));
    if (samples_ == kMostSamples) fail("an LMDB shard holds 100,000,000 samples at most");
    if (sample.label < 0 || sample.label > std::numeric_limits<int32_t>::max()) {
      fail(fmt::format("its label {} does not fit into a Datum", sample.label));
    }
    constexpr size_t kMostBytes = size_t{2} << 30;  // protobuf's limit
    if (sample.bytes.size() >= kMostBytes - 64) fail("it is too large for a Datum (2 GiB)");
  }

  // The map can only grow between two transactions.
  void make_room(uint64_t pages) {
    const bool fits = used_pages_ + pages <= map_pages_;
    if (!fits || entries_ == kTransactionEntries || pending_pages_ > kTransactionPages) {
      commit_transaction();
      MDB_envinfo info;
      check(::mdb_env_info(env_.get(), &info));
      used_pages_ = info.me_last_pgno + 1;
      const uint64_t before = map_pages_;
      while (used_pages_ + pages > map_pages_ / 2) map_pages_ *= 2;
      if (map_pages_ != before) {
        check(::mdb_env_set_mapsize(env_.get(), map_pages_ * page_bytes_));
      }
    }
    used_pages_ += pages;
    pending_pages_ += pages;
  }

  void begin() {
    MDB_txn* transaction = nullptr;
    check(::mdb_txn_begin(env_.get(), nullptr, 0, &transaction));
    transaction_.reset(transaction);
    check(::mdb_dbi_open(transaction, nullptr, 0, &database_));
  }
  void commit_transaction() {
    entries_ = 0;
    pending_pages_ = 0;
    if (transaction_) check(::mdb_txn_commit(transaction_.release()));
  }

  void check(int result) const {
    if (result > 0) throw_errno("write", file_, result);
    if (result < 0) throw IoError(fmt::format("write {}: {}", file_, ::mdb_strerror(result)), 0);
  }

  const std::unique_ptr<ObjectWriter> writer_;
  const TemporaryFolder folder_;
  const std::string file_;
  std::unique_ptr<MDB_env, decltype([](MDB_env* env) { ::mdb_env_close(env); })> env_;
  std::unique_ptr<MDB_txn, decltype([](MDB_txn* txn) { ::mdb_txn_abort(txn); })> transaction_;
  MDB_dbi database_ = 0;
  uint64_t page_bytes_ = 0;
  uint64_t map_pages_ = 16384;
  uint64_t used_pages_ = 0;     // at most
  uint64_t pending_pages_ = 0;  // of the transaction, at most
  int64_t entries_ = 0;         // of the transaction
  int64_t samples_ = 0;
};

}  // namespace

std::unique_ptr<ShardWriter> create_lmdb(Storage& to, const std::string& key) {
  return std::make_unique<LmdbWriter>(to, key);
}

}  // namespace stoker
