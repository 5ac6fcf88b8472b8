#include "app/tools/checkpoint/files/stored_tensors.h"

#include <fmt/format.h>
#include <isa-l.h>

#include <algorithm>
#include <filesystem>

#include "io/core/crc32c.h"
#include "io/core/error.h"
#include "io/core/text/text.h"

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

namespace {

std::filesystem::path whole_path(const std::string& path) {
  return std::filesystem::absolute(path).lexically_normal();
}

}  // namespace

InputFile::InputFile(const std::string& path)
    : path_(path),
      tree_(whole_path(path).parent_path().native()),
      file_(tree_.open(to_text(whole_path(path).filename().native()), FileAccess::buffered)),
      size_(file_.size()) {}

void InputFile::need(uint64_t offset, uint64_t bytes) const {
  if (offset <= size_ && bytes <= size_ - offset) return;
  refuse(
      fmt::format("cut short: it has {} bytes, and {} from byte {} on are needed: fetch it again",
                  size_, bytes, offset));
}

void InputFile::read(uint64_t offset, std::span<uint8_t> out) const {
  need(offset, out.size());
  file_.read_at(offset, out);
}

std::string InputFile::text(uint64_t offset, uint64_t bytes) const {
  need(offset, bytes);
  std::string text(bytes, '\0');
  file_.read_at(offset, {reinterpret_cast<uint8_t*>(text.data()), text.size()});
  return text;
}

void InputFile::refuse(const std::string& what) const {
  throw Error(ExitCode::storage, path_ + ": " + what);
}

uint64_t little_endian(const uint8_t* in, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value |= uint64_t{in[i]} << (8 * i);
  return value;
}

void append_little_endian(std::string& out, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

}  // namespace stoker
