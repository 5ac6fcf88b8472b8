#include "app/tools/checkpoint/files/zip.h"

#include <fmt/format.h>
#include <isa-l.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "app/tools/checkpoint/files/stored_tensors.h"
#include "io/core/text/text.h"

// A zip ends with a directory of its entries and a record that says where the directory is. Each
// entry has a header of its own before its bytes, whose length the directory does not tell.
// (PKWARE, APPNOTE.TXT 6.3.)

namespace stoker {
namespace {

constexpr uint32_t kEndMark = 0x06054b50;
constexpr uint32_t kEnd64Mark = 0x06064b50;
constexpr uint32_t kLocator64Mark = 0x07064b50;
constexpr uint32_t kDirectoryMark = 0x02014b50;
constexpr uint32_t kEntryMark = 0x04034b50;
constexpr uint64_t kEndBytes = 22;
constexpr uint64_t kEnd64Bytes = 56;
constexpr uint64_t kLocator64Bytes = 20;
constexpr uint64_t kDirectoryEntryBytes = 46;
constexpr uint64_t kEntryHeaderBytes = 30;
constexpr uint64_t kMaxComment = 0xffff;
constexpr uint64_t kMaxDirectory = 64ull << 20;
constexpr uint64_t kIn64 = 0xffffffff;  // the number stands in the extra field
constexpr uint16_t kExtra64 = 1;

// Numbers out of a piece of the archive. What lies beyond it is damage.
class Fields {
 public:
  Fields(const InputFile& file, std::string_view bytes) : file_(file), bytes_(bytes) {}

  uint64_t at(uint64_t offset, size_t bytes) const {
    return little_endian(reinterpret_cast<const uint8_t*>(part(offset, bytes).data()), bytes);
  }
  std::string_view part(uint64_t offset, uint64_t bytes) const {
    if (offset > bytes_.size() || bytes > bytes_.size() - offset) {
      file_.refuse("its directory is cut short: it is a damaged zip");
    }
    return bytes_.substr(offset, bytes);
  }
  uint64_t size() const { return bytes_.size(); }

 private:
  const InputFile& file_;
  std::string_view bytes_;
};

// Where the directory lies, and how many entries it has.
struct Directory {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint64_t entries = 0;
};

Directory find_directory64(const InputFile& file, uint64_t end) {
  if (end < kLocator64Bytes) file.refuse("it has no ZIP64 record: it is a damaged zip");
  const std::string text = file.text(end - kLocator64Bytes, kLocator64Bytes);
  const Fields locator(file, text);
  if (locator.at(0, 4) != kLocator64Mark)
    file.refuse("it has no ZIP64 record: it is a damaged zip");
  const std::string record_text = file.text(locator.at(8, 8), kEnd64Bytes);
  const Fields record(file, record_text);
  if (record.at(0, 4) != kEnd64Mark) file.refuse("its ZIP64 record is damaged");
  return {record.at(48, 8), record.at(40, 8), record.at(32, 8)};
}

Directory find_directory(const InputFile& file) {
  const uint64_t tail = std::min(file.size(), kEndBytes + kMaxComment);
  const std::string text = file.text(file.size() - tail, tail);
  const Fields fields(file, text);
  for (uint64_t back = kEndBytes; back <= tail; ++back) {
    const uint64_t at = tail - back;
    if (fields.at(at, 4) != kEndMark || fields.at(at + 20, 2) != back - kEndBytes) continue;
    const Directory found{fields.at(at + 16, 4), fields.at(at + 12, 4), fields.at(at + 10, 2)};
    const bool in64 = found.offset == kIn64 || found.bytes == kIn64 || found.entries == 0xffff;
    const uint64_t end = file.size() - back;
    const Directory result = in64 ? find_directory64(file, end) : found;
    if (result.bytes > kMaxDirectory || result.offset > end || result.bytes > end - result.offset) {
      file.refuse(
          fmt::format("its directory is said to be bytes [{}, {} more) of {}: it is a damaged "
                      "zip",
                      result.offset, result.bytes, file.size()));
    }
    return result;
  }
  file.refuse("it has no directory at its end: it is no zip, or it was cut short: fetch it again");
}

// An entry as the directory has it: `offset` is that of its header.
struct Listed {
  std::string name;
  StoredEntry entry;
};

// The numbers that did not fit into 32 bits stand in the extra field, in this order.
void read_extra64(const InputFile& file, const Fields& extra, Listed& listed, uint64_t compressed) {
  for (uint64_t at = 0; at + 4 <= extra.size();) {
    const uint64_t id = extra.at(at, 2), bytes = extra.at(at + 2, 2);
    if (id == kExtra64) {
      const Fields numbers(file, extra.part(at + 4, bytes));
      uint64_t next = 0;
      for (uint64_t* const number : {&listed.entry.bytes, &compressed, &listed.entry.offset}) {
        if (*number != kIn64) continue;
        *number = numbers.at(next, 8);
        next += 8;
      }
      break;
    }
    at += 4 + bytes;
  }
  if (compressed != listed.entry.bytes) {
    file.refuse(
        fmt::format("entry {} has {} bytes, and {} where it is stored: its directory is "
                    "damaged",
                    listed.name, listed.entry.bytes, compressed));
  }
}

Listed read_entry(const InputFile& file, const Fields& directory, uint64_t& at) {
  if (directory.at(at, 4) != kDirectoryMark)
    file.refuse("its directory is damaged: no entry where one has to be");
  const uint64_t name_bytes = directory.at(at + 28, 2), extra_bytes = directory.at(at + 30, 2);
  Listed listed{readable(directory.part(at + kDirectoryEntryBytes, name_bytes)), {}};
  const uint64_t flags = directory.at(at + 8, 2), method = directory.at(at + 10, 2);
  if ((flags & 1) != 0) file.refuse(fmt::format("entry {} is encrypted", listed.name));
  if (method != 0) {
    file.refuse(
        fmt::format("entry {} is compressed (method {}), which torch.save does not do: unpack "
                    "the zip and pack it without compression (zip -0), or load it in Python "
                    "and save it anew",
                    listed.name, method));
  }
  listed.entry = {directory.at(at + 42, 4), directory.at(at + 24, 4),
                  static_cast<uint32_t>(directory.at(at + 16, 4))};
  const Fields extra(file, directory.part(at + kDirectoryEntryBytes + name_bytes, extra_bytes));
  read_extra64(file, extra, listed, directory.at(at + 20, 4));
  at += kDirectoryEntryBytes + name_bytes + extra_bytes + directory.at(at + 32, 2);
  return listed;
}

// From an entry's header to its bytes.
void go_to_bytes(const InputFile& file, Listed& listed, uint64_t end) {
  const std::string text = file.text(listed.entry.offset, kEntryHeaderBytes);
  const Fields header(file, text);
  if (header.at(0, 4) != kEntryMark) {
    file.refuse(fmt::format("entry {}: there is none at byte {}: its directory is damaged",
                            listed.name, listed.entry.offset));
  }
  listed.entry.offset += kEntryHeaderBytes + header.at(26, 2) + header.at(28, 2);
  if (listed.entry.offset > end || listed.entry.bytes > end - listed.entry.offset) {
    file.refuse(
        fmt::format("entry {}: {} bytes from byte {} on are beyond its end: it is a damaged zip",
                    listed.name, listed.entry.bytes, listed.entry.offset));
  }
}

}  // namespace

std::map<std::string, StoredEntry> read_zip(const InputFile& file) {
  const Directory where = find_directory(file);
  const std::string text = file.text(where.offset, where.bytes);
  const Fields directory(file, text);
  std::map<std::string, StoredEntry> entries;
  std::vector<std::pair<uint64_t, uint64_t>> taken;  // from the header to the end of the bytes
  uint64_t at = 0;
  for (uint64_t i = 0; i < where.entries; ++i) {
    Listed listed = read_entry(file, directory, at);
    const uint64_t begin = listed.entry.offset;
    go_to_bytes(file, listed, where.offset);
    taken.emplace_back(begin, listed.entry.offset + listed.entry.bytes);
    if (!entries.emplace(listed.name, listed.entry).second) {
      file.refuse(fmt::format("entry {} occurs twice", listed.name));
    }
  }
  std::ranges::sort(taken);
  for (size_t i = 1; i < taken.size(); ++i) {
    if (taken[i].first >= taken[i - 1].second) continue;
    file.refuse(fmt::format("two entries lie in each other at byte {}: its directory is damaged",
                            taken[i].first));
  }
  return entries;
}

// The CRC-32 of an entry is not known when its header is written, so it follows the bytes (a data
// descriptor, bit 3 of the flags) and stands in the directory, by which all readers of whole files
// go. (PKWARE, APPNOTE.TXT 6.3.)

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
