#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/dataset/formats/parquet/row_values.h"
#include "io/dataset/shards/shard_index.h"

namespace stoker {

// A column of a Parquet file that is stored by itself. A value.
struct ParquetColumn {
  // The names of the fields that lead to it: "image.bytes".
  std::string path;
  // As Arrow calls it: "fixed_size_list<element: uint8>[4096]".
  std::string type;
  // Its number among the columns that are stored. -1: it consists of several of them.
  int leaf = -1;
  // What its rows can be used as: has_bytes() and is_whole() of its type.
  bool has_bytes = false;
  bool is_text = false;
  bool is_whole = false;
  // How many bytes each of its rows has, and how many numbers that is; 0: they differ.
  uint64_t bytes_of_each = 0;
  uint64_t numbers_of_each = 0;
};

// What a shard's end says of it: immutable, shared by all that read the shard.
struct ParquetFooter;

// A shard in the form of Apache Parquet, read by libparquet, which undoes encodings and compression
// and checks the checksums of pages that have some. One thread. Everything throws ParquetDamage,
// what the shard's `read` throws, and std::bad_alloc.
class ParquetFile {
 public:
  // Reads the footer, of which it knows the size (0: it does not). `read` is called as long as this
  // lives, by the thread that calls.
  static std::shared_ptr<const ParquetFooter> footer(uint64_t shard_bytes, uint64_t footer_bytes,
                                                     const ShardRead& read);
  ParquetFile(std::shared_ptr<const ParquetFooter> footer, uint64_t shard_bytes, ShardRead read);
  ~ParquetFile();

  // Where the footer lies: to the shard's end.
  Range footer_place() const;
  std::vector<ParquetColumn> columns() const;
  // Row groups, and how many rows one has; the column has at least as many numbers.
  int groups() const;
  int64_t rows(int group, int leaf) const;
  // Where a column of a row group lies.
  Range place(int group, int leaf) const;
  // How many bytes each row of the group has, where the footer shows that no row has a flaw. 0: one
  // has to look at the values.
  uint64_t surely_of_each(int group, const ParquetColumn& column) const;
  // Reads them, by one read of the shard.
  RowValues values(int group, int leaf);
  std::vector<std::optional<int64_t>> numbers(int group, int leaf);

 private:
  class State;
  const std::unique_ptr<State> state_;
};

}  // namespace stoker
