#include "app/tools/checkpoint/files/input_file.h"

#include <fmt/format.h>

#include <filesystem>

#include "io/core/error.h"
#include "io/core/text/text.h"

namespace stoker {
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
