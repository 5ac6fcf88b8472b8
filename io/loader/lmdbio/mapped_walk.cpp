#include "io/loader/lmdbio/mapped_walk.h"

#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "io/core/error.h"
#include "io/loader/lmdbio/database/lmdb_tree.h"
#include "io/loader/lmdbio/record_pages.h"
#include "io/loader/lmdbio/record_reader.h"

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

void throw_changed(const ReaderInputs& inputs, const std::string& what) {
  throw Error(
      ExitCode::data,
      fmt::format("loader: {}: {}: it is no longer the database that was verified: let "
                  "nothing write it while it is read; if nothing does, delete {}.index.json",
                  inputs.object, what, inputs.object));
}

MappableDatabase check_database(const ReaderInputs& inputs) {
  if (inputs.path.empty()) {
    throw Error(ExitCode::config,
                fmt::format("loader: reader {} maps the database, and {} is not a file of a plain "
                            "tier of this machine: mount its tier by `stoker mount` and name the "
                            "mount as a tier of type posix, or choose an explicit reader such as "
                            "reader: indexed",
                            name_of(inputs.options.reader), inputs.object));
  }
  std::optional<ObjectInfo> object;
  for (const ObjectInfo& each : inputs.records.tier().list(inputs.object)) {
    if (each.key == inputs.object) object = each;
  }
  if (!object) throw_changed(inputs, "it is not there");
  LmdbTree tree(inputs.records.tier(), *object);
  const LmdbMeta meta = tree.meta();
  const int64_t records = inputs.dataset.size(inputs.split);
  if (meta.entries != static_cast<uint64_t>(records)) {
    throw_changed(inputs, fmt::format("it has {} records, not {}", meta.entries, records));
  }
  for (int64_t record = 0; record < records; ++record) {
    const Range place = inputs.records.place(inputs.split, record);
    if (place.offset > object->bytes || place.length > object->bytes - place.offset) {
      throw_changed(inputs, fmt::format("record {} lies behind its end", record));
    }
  }
  // Free pages at its end need not be there; others do.
  if (object->bytes / meta.page_bytes <= meta.last_page) tree.walk([](auto) {});
  return {meta, object->bytes};
}

namespace {

// LMM: the reader of a node walks over all of the database, and copies what is its node's.
class CursorFiller final : public WindowFiller {
 public:
  explicit CursorFiller(const ReaderInputs& inputs) : inputs_(inputs) {
    {
      const Waiting waiting(inputs_.meter);
      inputs_.group.meet_readers();
    }
    walk_ = std::make_unique<MappedWalk>(inputs_);
  }

  size_t window_bytes(int64_t records) const override { return most_bytes(inputs_, records); }

  void fill(int64_t batch, Window& window) override {
    const Records stretch = inputs_.order.node_stretch(batch, inputs_.group.node());
    uint64_t offset = 0;
    for (int64_t record = stretch.first; record < stretch.last; ++record) {
      const Bytes value = walk_->walk_to(record);
      if (!value.empty()) std::memcpy(&window.bytes()[offset], value.data(), value.size());
      window.places()[static_cast<size_t>(record - stretch.first)] = {offset, value.size()};
      offset += value.size();
    }
    RecordReadCosts costs;
    costs.pages_needed = pages_of(inputs_, stretch);
    inputs_.meter.add(costs);
  }

 private:
  const ReaderInputs inputs_;
  std::unique_ptr<MappedWalk> walk_;
};

}  // namespace

std::unique_ptr<WindowFiller> make_cursor_filler(const ReaderInputs& inputs) {
  return std::make_unique<CursorFiller>(inputs);
}

namespace {

// Caffe's data layer: every rank maps the database, walks over all of it, and copies what is its
// own.
class WalkingReader final : public RecordReader {
 public:
  explicit WalkingReader(const ReaderInputs& inputs) : inputs_(inputs), walk_(inputs) {}

  std::span<const Bytes> read(int64_t batch) override {
    const Records own = inputs_.order.of_rank(batch, inputs_.group.rank());
    values_.clear();
    size_t bytes = 0;
    for (int64_t record = own.first; record < own.last; ++record) {
      bytes += inputs_.records.place(inputs_.split, record).length;
    }
    uint8_t* to = copies_.resize(bytes);
    for (int64_t record = own.first; record < own.last; ++record) {
      const Bytes value = walk_.walk_to(record);
      if (!value.empty()) std::memcpy(to, value.data(), value.size());
      values_.emplace_back(to, value.size());
      to += value.size();
    }
    RecordReadCosts costs;
    costs.pages_needed = pages_of(inputs_, own);
    inputs_.meter.add(costs);
    return values_;
  }

 private:
  const ReaderInputs inputs_;
  MappedWalk walk_;
  Buffer copies_;
  std::vector<Bytes> values_;
};

}  // namespace

std::unique_ptr<RecordReader> make_walking_reader(const ReaderInputs& inputs) {
  return std::make_unique<WalkingReader>(inputs);
}

}  // namespace stoker
