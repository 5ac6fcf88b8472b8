#include "io/profiler/counters/record_name.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace stoker {
namespace {

static_assert(std::endian::native == std::endian::little);

uint64_t word_at(const char* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// The mixing step of lookup8 (Bob Jenkins, 1997, public domain).
void mix(uint64_t& a, uint64_t& b, uint64_t& c) {
  constexpr int kShifts[][3] = {{43, 9, 8}, {38, 23, 5}, {35, 49, 11}, {12, 18, 22}};
  for (const auto& [of_a, of_b, of_c] : kShifts) {
    a = (a - b - c) ^ (c >> of_a);
    b = (b - c - a) ^ (a << of_b);
    c = (c - a - b) ^ (b >> of_c);
  }
}

}  // namespace

uint64_t record_id(std::string_view name) {
  constexpr size_t kBlock = 3 * sizeof(uint64_t);
  uint64_t a = 0, b = 0, c = 0x9e3779b97f4a7c13;
  const uint64_t length = name.size();
  for (; name.size() >= kBlock; name.remove_prefix(kBlock)) {
    a += word_at(name.data());
    b += word_at(name.data() + 8);
    c += word_at(name.data() + 16);
    mix(a, b, c);
  }
  char rest[kBlock] = {};
  std::copy(name.begin(), name.end(), rest);
  a += word_at(rest);
  b += word_at(rest + 8);
  c += length + (word_at(rest + 16) << 8);  // its lowest byte belongs to the length
  mix(a, b, c);
  return c;
}

bool RecordName::set(std::string_view directory, std::string_view path) {
  length_ = 0;
  if (path.empty() || path.front() == '<') {
    if (path.size() > text_.size()) return false;
    length_ = path.size();
    std::copy(path.begin(), path.end(), text_.begin());
    return true;
  }
  if (path.front() != '/' && !(append(directory) && append("/"))) return false;
  return append(path);
}

bool RecordName::append(std::string_view piece) {
  while (!piece.empty()) {
    if (piece.front() != '/') {
      const size_t part = std::min(piece.find('/'), piece.size());
      if (part > text_.size() - length_) return false;
      std::copy_n(piece.begin(), part, text_.begin() + length_);
      length_ += part;
      piece.remove_prefix(part);
      continue;
    }
    piece.remove_prefix(1);
    if (length_ > 0 && text_[length_ - 1] == '/') continue;
    if (length_ > 1 && text_[length_ - 1] == '.' && text_[length_ - 2] == '/') {
      --length_;
      continue;
    }
    if (length_ == text_.size()) return false;
    text_[length_++] = '/';
  }
  return true;
}

}  // namespace stoker
