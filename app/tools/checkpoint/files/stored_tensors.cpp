#include "app/tools/checkpoint/files/stored_tensors.h"

#include <fmt/format.h>
#include <isa-l.h>

#include <algorithm>

#include "io/core/crc32c.h"
#include "io/core/error.h"

namespace stoker {

TensorPieces::TensorPieces(const StoredTensors& source, size_t tensor, uint64_t elements_at_once)
    : source_(source),
      tensor_(tensor),
      most_(elements_at_once * dtype_bytes(source.tensors()[tensor].dtype)),
      expected_(source.sum(tensor)) {}

Bytes TensorPieces::next() {
  const uint64_t size = std::min(most_, source_.tensors()[tensor_].bytes - done_);
  if (size == 0) {
    check();
    return {};
  }
  const std::span out(buffer_.resize(size), size);
  source_.read(tensor_, done_, out);
  done_ += size;
  if (expected_) {
    sum_ = expected_->kind == TensorSum::Kind::crc32c
               ? crc32c(out, sum_)
               : crc32_gzip_refl(sum_, out.data(), out.size());
  }
  return out;
}

void TensorPieces::check() const {
  if (!expected_ || expected_->value == sum_) return;
  throw Error(
      ExitCode::storage,
      fmt::format("{}: tensor {} is damaged ({} {:08x}, expected {:08x}): take another copy "
                  "of it",
                  source_.place(tensor_), source_.tensors()[tensor_].name,
                  expected_->kind == TensorSum::Kind::crc32c ? "CRC-32C" : "CRC-32", sum_,
                  expected_->value));
}

}  // namespace stoker
