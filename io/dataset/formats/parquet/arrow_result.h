#pragma once

#include <arrow/result.h>
#include <arrow/status.h>

#include <new>
#include <stdexcept>
#include <utility>

namespace stoker {

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
