#pragma once

#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// Parquet files as other programs write them, made by libparquet's own writer.

namespace stoker {

inline void arrow_ok(const arrow::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

template <class T>
T arrow_value(arrow::Result<T> result) {
  arrow_ok(result.status());
  return std::move(result).ValueUnsafe();
}

using ArrowArray = std::shared_ptr<arrow::Array>;

template <class Builder>
ArrowArray finished(Builder& builder) {
  ArrowArray array;
  arrow_ok(builder.Finish(&array));
  return array;
}

// Nothing: a null.
using Texts = std::vector<std::optional<std::string>>;

template <class Builder>
ArrowArray texts(const Texts& values) {
  Builder builder;
  for (const auto& value : values) {
    arrow_ok(value ? builder.Append(*value) : builder.AppendNull());
  }
  return finished(builder);
}
inline ArrowArray binaries(const Texts& values) { return texts<arrow::BinaryBuilder>(values); }
inline ArrowArray strings(const Texts& values) { return texts<arrow::StringBuilder>(values); }

inline ArrowArray int64s(const std::vector<std::optional<int64_t>>& values) {
  arrow::Int64Builder builder;
  for (const auto& value : values) {
    arrow_ok(value ? builder.Append(*value) : builder.AppendNull());
  }
  return finished(builder);
}

// Lists of bytes, all of the same length, as DLIO writes its records.
inline ArrowArray byte_lists(const std::vector<std::string>& values) {
  const auto numbers = std::make_shared<arrow::UInt8Builder>();
  arrow::FixedSizeListBuilder builder(arrow::default_memory_pool(), numbers,
                                      static_cast<int32_t>(values.at(0).size()));
  for (const std::string& value : values) {
    arrow_ok(builder.Append());
    arrow_ok(numbers->AppendValues(reinterpret_cast<const uint8_t*>(value.data()),
                                   static_cast<int64_t>(value.size())));
  }
  return finished(builder);
}

// What a file has beside its columns. A value.
struct ParquetForm {
  arrow::Compression::type codec = arrow::Compression::SNAPPY;
  int64_t rows_in_group = 1024;
  bool dictionary = true;
  bool checksums = false;
  // Without it the file has Parquet's own types alone, as those that are not written by Arrow.
  bool arrow_types = true;
};

using Columns = std::vector<std::pair<std::string, ArrowArray>>;

inline std::string parquet_file(const Columns& columns, const ParquetForm& form = {}) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const auto& [name, array] : columns) {
    fields.push_back(arrow::field(name, array->type()));
    arrays.push_back(array);
  }
  const auto table = arrow::Table::Make(arrow::schema(fields), arrays);
  parquet::WriterProperties::Builder properties;
  properties.compression(form.codec);
  if (!form.dictionary) properties.disable_dictionary();
  if (form.checksums) properties.enable_page_checksum();
  parquet::ArrowWriterProperties::Builder types;
  if (form.arrow_types) types.store_schema();
  const auto sink = arrow_value(arrow::io::BufferOutputStream::Create());
  arrow_ok(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), sink,
                                      form.rows_in_group, properties.build(), types.build()));
  return arrow_value(sink->Finish())->ToString();
}

// Bytes that do not compress, a function of the number.
inline std::string record_of(int64_t number, size_t bytes) {
  std::string record(bytes, '\0');
  uint64_t state = static_cast<uint64_t>(number) * 0x9E3779B97F4A7C15u + 1;
  for (char& byte : record) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<char>(state >> 56);
  }
  return record;
}

inline std::vector<std::string> records(int64_t first, int64_t count, size_t bytes) {
  std::vector<std::string> all;
  for (int64_t i = 0; i < count; ++i) all.push_back(record_of(first + i, bytes));
  return all;
}

}  // namespace stoker
