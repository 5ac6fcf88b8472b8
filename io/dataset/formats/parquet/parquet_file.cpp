#include "io/dataset/formats/parquet/parquet_file.h"

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/memory_pool.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <fmt/format.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/statistics.h>

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "io/dataset/formats/parquet/tier_file.h"

namespace stoker {

struct ParquetFooter {
  std::shared_ptr<parquet::FileMetaData> metadata;
};

namespace {

// Behind the footer: its length, and "PAR1".
constexpr uint64_t kTailBytes = 8;

// A row group that takes more memory than this while it is unpacked is none that anybody meant.
constexpr int64_t kMostMemory = int64_t{8} << 30;

parquet::ReaderProperties reader_properties(arrow::MemoryPool* pool, uint64_t footer_bytes) {
  parquet::ReaderProperties properties(pool);
  properties.set_page_checksum_verification(true);
  if (footer_bytes > 0) properties.set_footer_read_size(footer_bytes);
  return properties;
}

// Nothing is read or unpacked by threads of Arrow's: whoever asks does it, and its waits can be
// given up.
parquet::ArrowReaderProperties arrow_properties() {
  parquet::ArrowReaderProperties properties(false);
  properties.set_pre_buffer(false);
  return properties;
}

// The limit of a Pool, and no shortage of the machine's.
void check_memory(const arrow::Status& status) {
  if (!status.IsOutOfMemory() || status.message().find("cap") == std::string::npos) return;
  throw ParquetDamage(fmt::format(
      "it takes more than {} GiB to unpack it: write smaller row groups", kMostMemory >> 30));
}

// Calls f(), and makes whatever it throws one of the things that ParquetFile throws.
template <class F>
auto guarded(const TierFile& file, const F& f) {
  try {
    return f();
  } catch (const std::exception& error) {
    file.rethrow();
    if (const auto* status = dynamic_cast<const parquet::ParquetStatusException*>(&error)) {
      check_memory(status->status());
      check(status->status());
    }
    if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) throw;
    throw ParquetDamage(error.what());
  }
}

// The one column that a field's values are stored in; -1: there are several.
int leaf_of(const parquet::arrow::SchemaField& field) {
  if (field.is_leaf()) return field.column_index;
  return field.children.size() == 1 ? leaf_of(field.children.front()) : -1;
}

void collect(const parquet::arrow::SchemaField& field, const std::string& before,
             std::vector<ParquetColumn>& out) {
  const std::string path = before + field.field->name();
  const arrow::DataType& type = *field.field->type();
  if (type.id() == arrow::Type::STRUCT) {
    for (const parquet::arrow::SchemaField& child : field.children) {
      collect(child, path + ".", out);
    }
    return;
  }
  ParquetColumn& column = out.emplace_back();
  column.path = path;
  column.type = type.ToString();
  column.leaf = leaf_of(field);
  column.has_bytes = column.leaf >= 0 && has_bytes(type);
  column.is_text = arrow::is_string(type.id()) || type.id() == arrow::Type::STRING_VIEW;
  column.is_whole = column.leaf >= 0 && is_whole(type);
  if (column.has_bytes) {
    column.bytes_of_each = bytes_of_each(type);
    column.numbers_of_each = numbers_of_each(type);
  }
}

}  // namespace

class ParquetFile::State {
 public:
  // Where a row group is unpacked, and lies as long as it is kept. Its memory goes back to the
  // system.
  struct Pool {
    arrow::ProxyMemoryPool counted{arrow::system_memory_pool()};
    arrow::CappedMemoryPool capped{&counted, kMostMemory};
  };

  State(std::shared_ptr<const ParquetFooter> footer, uint64_t bytes, ShardRead read)
      : footer_(std::move(footer)),
        bytes_(bytes),
        file_(std::make_shared<TierFile>(bytes, std::move(read))) {
    reader_ = guarded(*file_, [&] {
      return value_of(parquet::arrow::FileReader::Make(
          &pool_->capped,
          parquet::ParquetFileReader::Open(file_, reader_properties(&pool_->capped, 0),
                                           footer_->metadata),
          arrow_properties()));
    });
  }

  const parquet::FileMetaData& metadata() const { return *footer_->metadata; }
  const parquet::arrow::SchemaManifest& manifest() const { return reader_->manifest(); }
  const TierFile& file() const { return *file_; }
  uint64_t bytes() const { return bytes_; }
  const std::shared_ptr<Pool>& pool() const { return pool_; }

  // A column of a row group, which is as valid as it says.
  std::shared_ptr<arrow::ChunkedArray> read(int group, int leaf) {
    auto result = reader_->ReadRowGroup(group, {leaf});
    check_memory(result.status());
    const std::shared_ptr<arrow::Table> table = value_of(std::move(result));
    if (table->num_columns() != 1 || table->num_rows() != metadata().RowGroup(group)->num_rows()) {
      throw ParquetDamage(
          fmt::format("row group {} has not as many rows as its footer says", group));
    }
    std::shared_ptr<arrow::ChunkedArray> column = table->column(0);
    check(column->ValidateFull());
    return column;
  }

 private:
  const std::shared_ptr<const ParquetFooter> footer_;
  const uint64_t bytes_;
  const std::shared_ptr<TierFile> file_;
  const std::shared_ptr<Pool> pool_ = std::make_shared<Pool>();
  std::unique_ptr<parquet::arrow::FileReader> reader_;
};

std::shared_ptr<const ParquetFooter> ParquetFile::footer(uint64_t shard_bytes,
                                                         uint64_t footer_bytes,
                                                         const ShardRead& read) {
  const auto file = std::make_shared<TierFile>(shard_bytes, read);
  return guarded(*file, [&] {
    auto reader = parquet::ParquetFileReader::Open(
        file, reader_properties(arrow::system_memory_pool(), footer_bytes));
    auto footer = std::make_shared<ParquetFooter>();
    footer->metadata = reader->metadata();
    if (footer->metadata->is_encryption_algorithm_set()) {
      throw ParquetDamage("it is encrypted, and encrypted files are not read");
    }
    return std::shared_ptr<const ParquetFooter>(std::move(footer));
  });
}

ParquetFile::ParquetFile(std::shared_ptr<const ParquetFooter> footer, uint64_t shard_bytes,
                         ShardRead read)
    : state_(std::make_unique<State>(std::move(footer), shard_bytes, std::move(read))) {}

ParquetFile::~ParquetFile() = default;

Range ParquetFile::footer_place() const {
  const uint64_t size = static_cast<uint64_t>(state_->metadata().size()) + kTailBytes;
  if (size > state_->bytes()) throw ParquetDamage("its footer is longer than the shard");
  return {state_->bytes() - size, size};
}

std::vector<ParquetColumn> ParquetFile::columns() const {
  return guarded(state_->file(), [&] {
    std::vector<ParquetColumn> columns;
    for (const auto& field : state_->manifest().schema_fields) collect(field, "", columns);
    return columns;
  });
}

int ParquetFile::groups() const { return state_->metadata().num_row_groups(); }

int64_t ParquetFile::rows(int group, int leaf) const {
  return guarded(state_->file(), [&] {
    const auto row_group = state_->metadata().RowGroup(group);
    const int64_t rows = row_group->num_rows();
    const int64_t numbers = row_group->ColumnChunk(leaf)->num_values();
    if (rows < 0 || rows > numbers) {
      throw ParquetDamage(
          fmt::format("row group {} has {} rows, and {} values in them", group, rows, numbers));
    }
    return rows;
  });
}

Range ParquetFile::place(int group, int leaf) const {
  return guarded(state_->file(), [&] {
    const auto row_group = state_->metadata().RowGroup(group);
    const auto chunk = row_group->ColumnChunk(leaf);
    if (!chunk->file_path().empty()) {
      throw ParquetDamage("its columns lie in other files (" + chunk->file_path() + ")");
    }
    int64_t begin = chunk->data_page_offset();
    if (chunk->has_dictionary_page() && chunk->dictionary_page_offset() > 0) {
      begin = std::min(begin, chunk->dictionary_page_offset());
    }
    const int64_t bytes = chunk->total_compressed_size();
    const auto all = static_cast<int64_t>(state_->bytes());
    if (begin < 0 || bytes < 0 || begin > all || bytes > all - begin) {
      throw ParquetDamage(fmt::format("row group {} does not lie in its shard", group));
    }
    return Range{static_cast<uint64_t>(begin), static_cast<uint64_t>(bytes)};
  });
}

uint64_t ParquetFile::surely_of_each(int group, const ParquetColumn& column) const {
  if (column.bytes_of_each == 0) return 0;
  return guarded(state_->file(), [&]() -> uint64_t {
    const auto row_group = state_->metadata().RowGroup(group);
    const auto chunk = row_group->ColumnChunk(column.leaf);
    const auto statistics = chunk->is_stats_set() ? chunk->encoded_statistics() : nullptr;
    const bool whole = statistics && statistics->has_null_count && statistics->null_count == 0;
    const uint64_t numbers = column.numbers_of_each * static_cast<uint64_t>(row_group->num_rows());
    const bool all = static_cast<uint64_t>(chunk->num_values()) == numbers;
    return whole && all ? column.bytes_of_each : 0;
  });
}

RowValues ParquetFile::values(int group, int leaf) {
  return guarded(state_->file(), [&] {
    RowValues values = row_values(state_->read(group, leaf));
    // The pool goes last.
    using Owner = std::pair<std::shared_ptr<State::Pool>, std::shared_ptr<const void>>;
    values.owner = std::make_shared<Owner>(state_->pool(), std::move(values.owner));
    return values;
  });
}

std::vector<std::optional<int64_t>> ParquetFile::numbers(int group, int leaf) {
  return guarded(state_->file(), [&] { return row_numbers(*state_->read(group, leaf)); });
}

}  // namespace stoker
