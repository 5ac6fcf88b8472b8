#include "io/core/wire/sorted_table.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "io/core/crc32c.h"
#include "io/core/error.h"
#include "io/core/wire/protobuf.h"

namespace stoker {
namespace {

// As LevelDB's own.
constexpr size_t kBlockBytes = 4096;
constexpr size_t kHandleBytes = 20;  // at most: two varints
constexpr size_t kFooterBytes = 2 * kHandleBytes + 8;
constexpr uint64_t kMagic = 0xdb4775248b80fb57;
constexpr size_t kTrailerBytes = 5;
constexpr size_t kMostKeyBytes = 1 << 16;

[[noreturn]] void fail(const char* what) {
  throw BadSample(BadReason::corrupt, std::string("it is no sorted table: ") + what);
}

void put_fixed(std::string& to, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>(static_cast<uint8_t>(value >> (8 * i)));
}

uint64_t fixed(Bytes bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size(); ++i) value |= uint64_t{bytes[i]} << (8 * i);
  return value;
}

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

uint64_t number(WireReader& from) {
  const std::optional<uint64_t> value = from.next_varint();
  if (!value) fail("a number is missing");
  return *value;
}

// The block to which a handle points, without its restarts: they are for searches.
Bytes block_at(Bytes file, WireReader& handle) {
  const uint64_t offset = number(handle), size = number(handle);
  if (offset > file.size() || size > file.size() - offset ||
      file.size() - offset - size < kTrailerBytes) {
    fail("a block outside of the file");
  }
  const Bytes summed = file.subspan(offset, size + 1);
  if (fixed(file.subspan(offset + size + 1, 4)) != masked_crc32c(crc32c(summed))) {
    fail("the checksum of a block does not agree with its bytes");
  }
  if (summed.back() != 0) {
    throw BadSample(BadReason::unsupported, "a block of the table is compressed");
  }
  if (size < 4) fail("a block without restarts");
  const uint64_t restarts = fixed(file.subspan(offset + size - 4, 4));
  if (restarts > (size - 4) / 4) fail("more restarts than the block has bytes");
  return file.subspan(offset, size - 4 - 4 * restarts);
}

template <class F>
void each_entry(Bytes block, const F& visit) {
  WireReader rest(block);
  std::string key;
  while (const std::optional<uint64_t> shared = rest.next_varint()) {
    const uint64_t added = number(rest), value_bytes = number(rest);
    if (*shared > key.size() || added > kMostKeyBytes - *shared) fail("an impossible key");
    key.resize(*shared);
    key += text_of(rest.take(added));
    visit(key, rest.take(value_bytes));
  }
}

}  // namespace

void SortedTableWriter::Block::add(std::string_view key, std::string_view value) {
  size_t shared = 0;
  if (entries_++ % restart_every_ == 0) {
    restarts_.push_back(static_cast<uint32_t>(bytes_.size()));
  } else {
    const auto ends = std::ranges::mismatch(last_key_, key);
    shared = static_cast<size_t>(ends.in2 - key.begin());
  }
  bytes_ += wire_varint(shared) + wire_varint(key.size() - shared) + wire_varint(value.size());
  bytes_ += key.substr(shared);
  bytes_ += value;
  last_key_ = key;
}

std::string SortedTableWriter::Block::take() {
  if (restarts_.empty()) restarts_.push_back(0);
  for (const uint32_t restart : restarts_) put_fixed(bytes_, restart, 4);
  put_fixed(bytes_, restarts_.size(), 4);
  restarts_.clear();
  entries_ = 0;
  return std::exchange(bytes_, {});
}

void SortedTableWriter::add(std::string_view key, std::string_view value) {
  const bool first = block_.empty() && index_.empty();
  const std::string& before = block_.empty() ? index_.last_key() : block_.last_key();
  if (!first && key <= before) throw std::logic_error("the keys of a sorted table have to rise");
  block_.add(key, value);
  if (block_.size() >= kBlockBytes) end_block();
}

void SortedTableWriter::end_block() {
  const std::string last = block_.last_key();
  index_.add(last, append(block_.take()));
}

std::string SortedTableWriter::append(const std::string& block) {
  std::string handle = wire_varint(file_.size()) + wire_varint(block.size());
  file_ += block;
  file_ += '\0';
  const Bytes summed = bytes_of(file_).last(block.size() + 1);
  put_fixed(file_, masked_crc32c(crc32c(summed)), 4);
  return handle;
}

std::string SortedTableWriter::finish() {
  if (!block_.empty()) end_block();
  std::string footer = append(Block(1).take());
  footer += append(index_.take());
  footer.resize(2 * kHandleBytes);
  put_fixed(footer, kMagic, 8);
  return std::exchange(file_, {}) + footer;
}

void read_sorted_table(Bytes file, const std::function<void(std::string_view, Bytes)>& visit) {
  if (file.size() < kFooterBytes) fail("it is too short");
  const Bytes footer = file.last(kFooterBytes);
  if (fixed(footer.last(8)) != kMagic) fail("its magic number is another one");
  WireReader handles(footer.first(2 * kHandleBytes));
  number(handles), number(handles);  // the meta block has nothing that is needed
  std::string before;
  bool first = true;
  each_entry(block_at(file, handles), [&](std::string_view, Bytes at) {
    WireReader handle(at);
    each_entry(block_at(file, handle), [&](std::string_view key, Bytes value) {
      if (!std::exchange(first, false) && key <= before) fail("its keys do not rise");
      before = key;
      visit(key, value);
    });
  });
}

}  // namespace stoker
