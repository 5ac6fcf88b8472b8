#pragma once

#include <arrow/result.h>
#include <arrow/status.h>

#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "io/core/system/memory.h"

namespace arrow {
class ChunkedArray;
class DataType;
}  // namespace arrow

namespace stoker {

// What a row of a column is, as bytes. A value.
struct RowValue {
  uint64_t bytes = 0;
  // Why it can't be used; null: it can. Static text.
  const char* flaw = nullptr;
};

// The values of a column's rows. A value; the bytes are never changed.
struct RowValues {
  std::vector<RowValue> rows;
  // Of all rows, one behind the other; those with a flaw have none.
  Bytes bytes;
  // What the bytes lie in.
  std::shared_ptr<const void> owner;
};

// The bytes that each row of a column has: a text's or a binary value's own, or the numbers of a
// list, also one of lists, as the processor has them. Only for what has_bytes() says it of. Throws
// std::bad_alloc. Any thread.
RowValues row_values(const std::shared_ptr<arrow::ChunkedArray>& column);
// Whether rows of that type have bytes. How many if each has as many, and how many numbers of the
// file that is (a text is one); 0: they differ.
bool has_bytes(const arrow::DataType& type);
uint64_t bytes_of_each(const arrow::DataType& type);
uint64_t numbers_of_each(const arrow::DataType& type);

// Whole numbers, or nothing where there is none. Only for what is_whole() says it of.
std::vector<std::optional<int64_t>> row_numbers(const arrow::ChunkedArray& column);
bool is_whole(const arrow::DataType& type);

// The bytes are no Parquet, contradict themselves, or are of a kind that libparquet does not read.
// A value.
class ParquetDamage final : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Arrow's way of failing becomes ours: ParquetDamage, or std::bad_alloc. Any thread.
inline void check(const arrow::Status& status) {
  if (status.ok()) return;
  if (status.IsOutOfMemory()) throw std::bad_alloc();
  throw ParquetDamage(status.message());
}

template <class T>
T value_of(arrow::Result<T> result) {
  check(result.status());
  return std::move(result).ValueUnsafe();
}

}  // namespace stoker
