#include "io/decoder/exif.h"

#include <array>
#include <bit>

namespace stoker {
namespace {

enum Type : uint16_t {
  kShort = 3,
  kLong = 4,
  kRational = 5,
  kSignedByte = 6,
  kSignedShort = 8,
  kSignedLong = 9,
  kSignedRational = 10,
  kFloat = 11,
  kDouble = 12,
  kDirectory = 13,
  kLong8 = 16,
};

// Bytes of a value; 0: it is no number.
size_t size_of(uint16_t type) {
  constexpr std::array<uint8_t, 17> kSizes{0, 0, 0, 2, 4, 8, 1, 0, 2, 4, 8, 4, 8, 4, 0, 0, 8};
  return type < kSizes.size() ? kSizes[type] : 0;
}

double signed_number(uint64_t value, size_t bytes) {
  const size_t unused = 64 - 8 * bytes;
  return static_cast<double>(static_cast<int64_t>(value << unused) >> unused);
}

}  // namespace

TiffDirectory::TiffDirectory(Bytes tiff)
    : data_(tiff), big_endian_(!tiff.empty() && tiff[0] == 'M') {
  const bool valid =
      tiff.size() >= 8 && tiff[0] == tiff[1] && (tiff[0] == 'I' || tiff[0] == 'M') && u16(2) == 42;
  if (!valid) data_ = {};
}

uint64_t TiffDirectory::whole(size_t at, size_t bytes) const {
  if (at > data_.size() || bytes > data_.size() - at) return 0;
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) {
    value = value << 8 | data_[at + (big_endian_ ? i : bytes - 1 - i)];
  }
  return value;
}

bool TiffDirectory::complete() const {
  const size_t directory = u32(4);
  return directory != 0 && directory + 2 + size_t{12} * u16(directory) <= data_.size();
}

std::optional<size_t> TiffDirectory::find(uint16_t tag) const {
  const size_t directory = u32(4);
  const size_t entries = u16(directory);
  for (size_t i = 0; i < entries; ++i) {
    const size_t at = directory + 2 + 12 * i;
    if (at + 12 > data_.size()) break;  // 65,535 entries are soon said
    if (u16(at) == tag) return at;
  }
  return std::nullopt;
}

std::optional<double> TiffDirectory::number(size_t entry, uint32_t index) const {
  const uint16_t type = u16(entry + 2);
  const uint64_t size = size_of(type), all = size * count(entry), offset = size * index;
  const uint64_t begin = all <= 4 ? entry + 8 : u32(entry + 8);
  const bool there = begin <= data_.size() && all <= data_.size() - begin;
  if (!there || offset >= all) return std::nullopt;
  return value(type, begin + offset);
}

std::optional<double> TiffDirectory::number(uint16_t tag) const {
  const std::optional<size_t> entry = find(tag);
  return entry ? number(*entry, 0) : std::nullopt;
}

std::optional<double> TiffDirectory::value(uint16_t type, size_t at) const {
  const size_t size = size_of(type);
  switch (type) {
    case kSignedByte:
    case kSignedShort:
    case kSignedLong:
      return signed_number(whole(at, size), size);
    case kRational:
      return static_cast<double>(u32(at)) / u32(at + 4);
    case kSignedRational:
      return signed_number(u32(at), 4) / signed_number(u32(at + 4), 4);
    case kFloat:
      return std::bit_cast<float>(u32(at));
    case kDouble:
      return std::bit_cast<double>(whole(at, size));
    case kShort:
    case kLong:
    case kDirectory:
    case kLong8:
      return static_cast<double>(whole(at, size));
    default:
      return std::nullopt;
  }
}

int exif_orientation(Bytes tiff) {
  const double value = TiffDirectory(tiff).number(kTagOrientation).value_or(1);
  for (int orientation = 2; orientation <= 8; ++orientation) {
    if (value == orientation) return orientation;
  }
  return 1;
}

}  // namespace stoker
