#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <arrow/status.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

#include "io/dataset/shards/shard_index.h"

namespace stoker {

// A shard as Arrow reads files: each of its reads is one of the tier's, in the same thread. What
// the tier throws does not pass through Arrow: it is kept, and Arrow is told that the read has
// failed. One thread; what `read` refers to must outlive it.
class TierFile final : public arrow::io::RandomAccessFile {
 public:
  TierFile(uint64_t bytes, ShardRead read)
      : bytes_(static_cast<int64_t>(bytes)), read_(std::move(read)) {}

  // What the tier has thrown, if it has.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

  arrow::Status Close() override;
  bool closed() const override { return closed_; }
  arrow::Result<int64_t> Tell() const override { return position_; }
  arrow::Status Seek(int64_t position) override;
  arrow::Result<int64_t> GetSize() override { return bytes_; }
  arrow::Result<int64_t> Read(int64_t count, void* out) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t count) override;
  arrow::Result<int64_t> ReadAt(int64_t position, int64_t count, void* out) override;
  arrow::Result<int64_t> ReadAt(int64_t position, int64_t count, bool may_be_short,
                                void* out) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t count) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t count,
                                                       bool may_be_short) override;

 private:
  const int64_t bytes_;
  const ShardRead read_;
  int64_t position_ = 0;
  bool closed_ = false;
  std::exception_ptr failure_;
};

}  // namespace stoker
