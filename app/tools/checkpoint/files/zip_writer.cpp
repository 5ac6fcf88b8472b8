#include "app/tools/checkpoint/files/zip_writer.h"

#include <isa-l.h>

#include "app/tools/checkpoint/files/input_file.h"

// The CRC-32 of an entry is not known when its header is written, so it follows the bytes (a data
// descriptor, bit 3 of the flags) and stands in the directory, by which all readers of whole files
// go. (PKWARE, APPNOTE.TXT 6.3.)

namespace stoker {
namespace {

constexpr uint64_t kAlignment = 64;
constexpr uint64_t kHeaderBytes = 30;
constexpr uint64_t kMost32 = 0xffffffff;
constexpr uint64_t kMost16 = 0xffff;
constexpr uint16_t kFlags = 1 << 3 | 1 << 11;  // a descriptor follows; names are UTF-8
constexpr uint16_t kDate = 1 << 5 | 1;         // 1980-01-01: equal tensors, equal files
constexpr uint16_t kVersion = 45;              // ZIP64
constexpr uint16_t kZip64 = 1;
constexpr uint16_t kPadding = 0x4246;  // torch's own id of this field
constexpr uint64_t kFieldHead = 4;

bool large(uint64_t value) { return value >= kMost32; }

// What a header and the directory have in common, from the version to the CRC.
void append_common(std::string& text, uint32_t crc32) {
  append_little_endian(text, kVersion, 2);
  append_little_endian(text, kFlags, 2);
  append_little_endian(text, 0, 2);  // stored
  append_little_endian(text, 0, 2);  // midnight
  append_little_endian(text, kDate, 2);
  append_little_endian(text, crc32, 4);
}

}  // namespace

void ZipWriter::write(const std::string& text) {
  file_.append({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  at_ += text.size();
}

void ZipWriter::begin(const std::string& name, uint64_t bytes) {
  end_entry();
  entries_.push_back({name, at_, bytes});
  open_ = true;
  std::string extra;
  if (large(bytes)) {
    append_little_endian(extra, kZip64, 2);
    append_little_endian(extra, 16, 2);
    append_little_endian(extra, bytes, 8);
    append_little_endian(extra, bytes, 8);
  }
  const uint64_t end = at_ + kHeaderBytes + name.size() + extra.size() + kFieldHead;
  const uint64_t padding = rounded_up(end, kAlignment) - end;
  append_little_endian(extra, kPadding, 2);
  append_little_endian(extra, padding, 2);
  extra.append(padding, 'Z');
  std::string header;
  append_little_endian(header, 0x04034b50, 4);
  append_common(header, 0);
  append_little_endian(header, large(bytes) ? kMost32 : bytes, 4);
  append_little_endian(header, large(bytes) ? kMost32 : bytes, 4);
  append_little_endian(header, name.size(), 2);
  append_little_endian(header, extra.size(), 2);
  write(header + name + extra);
}

void ZipWriter::append(Bytes bytes) {
  file_.append(bytes);
  at_ += bytes.size();
  uint32_t& sum = entries_.back().crc32;
  sum = crc32_gzip_refl(sum, bytes.data(), bytes.size());
}

void ZipWriter::add(const std::string& name, const std::string& text) {
  begin(name, text.size());
  append({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

void ZipWriter::end_entry() {
  if (!open_) return;
  open_ = false;
  const Entry& entry = entries_.back();
  const size_t number = large(entry.bytes) ? 8 : 4;
  std::string descriptor;
  append_little_endian(descriptor, 0x08074b50, 4);
  append_little_endian(descriptor, entry.crc32, 4);
  append_little_endian(descriptor, entry.bytes, number);
  append_little_endian(descriptor, entry.bytes, number);
  write(descriptor);
}

std::string ZipWriter::directory_entry(const Entry& entry) const {
  std::string numbers;
  if (large(entry.bytes)) {
    append_little_endian(numbers, entry.bytes, 8);
    append_little_endian(numbers, entry.bytes, 8);
  }
  if (large(entry.offset)) append_little_endian(numbers, entry.offset, 8);
  std::string extra;
  if (!numbers.empty()) {
    append_little_endian(extra, kZip64, 2);
    append_little_endian(extra, numbers.size(), 2);
    extra += numbers;
  }
  std::string text;
  append_little_endian(text, 0x02014b50, 4);
  append_little_endian(text, kVersion, 2);
  append_common(text, entry.crc32);
  append_little_endian(text, large(entry.bytes) ? kMost32 : entry.bytes, 4);
  append_little_endian(text, large(entry.bytes) ? kMost32 : entry.bytes, 4);
  append_little_endian(text, entry.name.size(), 2);
  append_little_endian(text, extra.size(), 2);
  append_little_endian(text, 0, 2 + 2 + 2);  // no comment, the first disk, no text
  append_little_endian(text, 0, 4);          // attributes
  append_little_endian(text, large(entry.offset) ? kMost32 : entry.offset, 4);
  return text + entry.name + extra;
}

void ZipWriter::finish() {
  end_entry();
  std::string text;
  for (const Entry& entry : entries_) text += directory_entry(entry);
  const uint64_t begin = at_, bytes = text.size(), count = entries_.size();
  const bool in64 = large(begin) || large(bytes) || count >= kMost16;
  if (in64) {
    const uint64_t record = begin + bytes;
    append_little_endian(text, 0x06064b50, 4);
    append_little_endian(text, 44, 8);  // bytes of the record from here on
    append_little_endian(text, kVersion, 2);
    append_little_endian(text, kVersion, 2);
    append_little_endian(text, 0, 8);  // the first disk, twice
    append_little_endian(text, count, 8);
    append_little_endian(text, count, 8);
    append_little_endian(text, bytes, 8);
    append_little_endian(text, begin, 8);
    append_little_endian(text, 0x07064b50, 4);
    append_little_endian(text, 0, 4);
    append_little_endian(text, record, 8);
    append_little_endian(text, 1, 4);
  }
  append_little_endian(text, 0x06054b50, 4);
  append_little_endian(text, 0, 4);
  append_little_endian(text, in64 ? kMost16 : count, 2);
  append_little_endian(text, in64 ? kMost16 : count, 2);
  append_little_endian(text, in64 ? kMost32 : bytes, 4);
  append_little_endian(text, in64 ? kMost32 : begin, 4);
  append_little_endian(text, 0, 2);
  write(text);
}

}  // namespace stoker
