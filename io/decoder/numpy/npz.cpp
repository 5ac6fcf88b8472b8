#include "io/decoder/numpy/npz.h"

#include <fmt/format.h>
#include <isa-l.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "io/core/config/suggestion.h"
#include "io/core/error.h"
#include "io/core/text/text.h"

// Zip files as PKWARE's APPNOTE.TXT has them: local headers with the members, then a directory,
// whose place the last record says. Only the directory is believed; local headers say where data
// begin.

namespace stoker {
namespace {

constexpr uint32_t kLocal = 0x04034b50, kEntry = 0x02014b50, kEnd = 0x06054b50;
constexpr uint32_t kEnd64 = 0x06064b50, kLocator64 = 0x07064b50, kDescriptor = 0x08074b50;
constexpr size_t kLocalBytes = 30, kEntryBytes = 46, kEndBytes = 22, kLocatorBytes = 20;
constexpr uint32_t kIn64 = UINT32_MAX;  // the value stands in 64 bits elsewhere

template <class T>
T number(Bytes bytes, uint64_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

[[noreturn]] void fail_corrupt() {
  throw BadSample(BadReason::corrupt, "its zip directory contradicts itself");
}

Bytes part(Bytes file, uint64_t at, uint64_t bytes) {
  if (at > file.size() || bytes > file.size() - at) fail_corrupt();
  return file.subspan(at, bytes);
}

struct Directory {
  uint64_t offset = 0;
  uint64_t entries = 0;
};

Directory find_directory(Bytes file) {
  constexpr size_t kMostComment = 65'535;
  const size_t lowest = file.size() - std::min(file.size(), kEndBytes + kMostComment);
  for (size_t at = file.size() - std::min(file.size(), kEndBytes);
       at + kEndBytes <= file.size() && at >= lowest; --at) {
    if (number<uint32_t>(file, at) == kEnd) {
      Directory found{number<uint32_t>(file, at + 16), number<uint16_t>(file, at + 10)};
      const bool locator =
          at >= kLocatorBytes && number<uint32_t>(file, at - kLocatorBytes) == kLocator64;
      if (!locator) return found;
      const Bytes end = part(file, number<uint64_t>(file, at - kLocatorBytes + 8), 56);
      if (number<uint32_t>(end, 0) != kEnd64) fail_corrupt();
      return {number<uint64_t>(end, 48), number<uint64_t>(end, 32)};
    }
    if (at == 0) break;
  }
  throw BadSample(BadReason::truncated, "it is a zip file without its directory");
}

struct Member {
  std::string_view name;
  uint16_t method = 0;
  uint32_t crc = 0;
  uint64_t packed = 0;
  uint64_t bytes = 0;
  uint64_t offset = 0;
  uint64_t entry_bytes = 0;
};

// What the entry leaves to its field of 64-bit numbers.
void read_extra(Bytes extra, Member& member) {
  while (extra.size() >= 4) {
    const Bytes field = part(extra, 4, number<uint16_t>(extra, 2));
    if (number<uint16_t>(extra, 0) == 1) {
      uint64_t at = 0;
      for (uint64_t* const value : {&member.bytes, &member.packed, &member.offset}) {
        if (*value != kIn64) continue;
        *value = number<uint64_t>(part(field, at, 8), 0);
        at += 8;
      }
    }
    extra = extra.subspan(4 + field.size());
  }
}

Member read_entry(Bytes file, uint64_t at) {
  const Bytes entry = part(file, at, kEntryBytes);
  if (number<uint32_t>(entry, 0) != kEntry) fail_corrupt();
  const uint64_t name = number<uint16_t>(entry, 28), extra = number<uint16_t>(entry, 30);
  const Bytes text = part(file, at + kEntryBytes, name);
  Member member{{reinterpret_cast<const char*>(text.data()), name},
                number<uint16_t>(entry, 10),
                number<uint32_t>(entry, 16),
                number<uint32_t>(entry, 20),
                number<uint32_t>(entry, 24),
                number<uint32_t>(entry, 42),
                kEntryBytes + name + extra + number<uint16_t>(entry, 32)};
  read_extra(part(file, at + kEntryBytes + name, extra), member);
  return member;
}

Member find_member(Bytes file, const std::string& name) {
  const Directory directory = find_directory(file);
  std::vector<std::string> others;
  uint64_t at = directory.offset;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    const Member member = read_entry(file, at);
    if (name.empty() || member.name == name + ".npy") return member;
    if (others.size() < 100) {
      std::string other = to_text(member.name);
      if (other.ends_with(".npy")) other.resize(other.size() - 4);
      others.push_back(std::move(other));
    }
    at += member.entry_bytes;
  }
  throw BadSample(BadReason::unsupported,
                  fmt::format("it has no array '{}'{}: set decoder.array", name,
                              what_is_there(name, std::move(others))));
}

Bytes inflated(Bytes packed, uint64_t bytes, Buffer& scratch) {
  // No stream unpacks to more.
  constexpr uint64_t kMostFactor = 1100, kMostPacked = UINT32_MAX;
  if (packed.size() > kMostPacked || bytes > kMostPacked || bytes / kMostFactor > packed.size()) {
    throw BadSample(BadReason::corrupt, "its packed array says that it is larger than it can be");
  }
  inflate_state state;
  isal_inflate_init(&state);
  state.next_in = const_cast<uint8_t*>(packed.data());
  state.avail_in = static_cast<uint32_t>(packed.size());
  state.next_out = scratch.resize(bytes);
  state.avail_out = static_cast<uint32_t>(bytes);
  if (isal_inflate(&state) != ISAL_DECOMP_OK || state.avail_out != 0) {
    throw BadSample(BadReason::corrupt, "its packed array is damaged");
  }
  return scratch.bytes();
}

template <class T>
std::string bytes_of(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
template <class... T>
std::string record(T... values) {
  return (bytes_of(values) + ...);
}

// 1 January 1980, as numpy.savez has it.
constexpr uint16_t kTime = 0, kDate = 0x21;
constexpr uint16_t kVersion = 45;  // 64-bit numbers
constexpr uint16_t kSizesBehind = 1u << 3;

}  // namespace

bool is_npz(Bytes file) {
  if (file.size() < 4) return false;
  const auto head = number<uint32_t>(file, 0);
  return head == kLocal || head == kEnd;
}

Bytes npz_member(Bytes file, const std::string& name, uint64_t most, Buffer& scratch) {
  const Member member = find_member(file, name);
  if (member.bytes > most) {
    throw BadSample(BadReason::too_large, fmt::format("its array has {} bytes, above {} "
                                                      "(decoder.max_bytes)",
                                                      member.bytes, most));
  }
  const Bytes local = part(file, member.offset, kLocalBytes);
  if (number<uint32_t>(local, 0) != kLocal) fail_corrupt();
  const uint64_t begin =
      member.offset + kLocalBytes + number<uint16_t>(local, 26) + number<uint16_t>(local, 28);
  const Bytes packed = part(file, begin, member.packed);
  if (member.method != 0 && member.method != 8) {
    throw BadSample(BadReason::unsupported,
                    fmt::format("its array is packed by method {} of zip, and has to be stored or "
                                "deflated",
                                member.method));
  }
  if (member.method == 0 && member.packed != member.bytes) fail_corrupt();
  const Bytes bytes = member.method == 0 ? packed : inflated(packed, member.bytes, scratch);
  if (crc32_gzip_refl(0, bytes.data(), bytes.size()) != member.crc) {
    throw BadSample(BadReason::corrupt, "the checksum of its array is wrong");
  }
  return bytes;
}

void NpzWriter::put(const std::string& text) {
  append_({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  offset_ += text.size();
}

void NpzWriter::begin(const std::string& name) {
  end_member();
  members_.push_back({name + ".npy", offset_});
  open_ = true;
  const std::string& file = members_.back().name;
  // With 64-bit sizes, so that those behind the member have 64 bits.
  put(record(kLocal, kVersion, kSizesBehind, uint16_t{0}, kTime, kDate, uint32_t{0}, kIn64, kIn64,
             static_cast<uint16_t>(file.size()), uint16_t{20}) +
      file + record(uint16_t{1}, uint16_t{16}, uint64_t{0}, uint64_t{0}));
}

void NpzWriter::write(Bytes bytes) {
  Member& member = members_.back();
  member.crc = crc32_gzip_refl(member.crc, bytes.data(), bytes.size());
  member.bytes += bytes.size();
  append_(bytes);
  offset_ += bytes.size();
}

void NpzWriter::end_member() {
  if (!open_) return;
  open_ = false;
  const Member& member = members_.back();
  put(record(kDescriptor, member.crc, member.bytes, member.bytes));
}

void NpzWriter::finish() {
  end_member();
  const uint64_t begin = offset_;
  for (const Member& member : members_) {
    put(record(kEntry, uint16_t{kVersion | 3u << 8}, kVersion, kSizesBehind, uint16_t{0}, kTime,
               kDate, member.crc, kIn64, kIn64, static_cast<uint16_t>(member.name.size()),
               uint16_t{28}, uint16_t{0}, uint16_t{0}, uint16_t{0}, uint32_t{0600u << 16}, kIn64) +
        member.name + record(uint16_t{1}, uint16_t{24}, member.bytes, member.bytes, member.offset));
  }
  const uint64_t bytes = offset_ - begin, end = offset_, count = members_.size();
  put(record(kEnd64, uint64_t{44}, kVersion, kVersion, uint32_t{0}, uint32_t{0}, count, count,
             bytes, begin));
  put(record(kLocator64, uint32_t{0}, end, uint32_t{1}));
  const auto few = static_cast<uint16_t>(count);
  put(record(kEnd, uint16_t{0}, uint16_t{0}, few, few, kIn64, kIn64, uint16_t{0}));
}

}  // namespace stoker
