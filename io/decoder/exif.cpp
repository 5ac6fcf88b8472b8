#include "io/decoder/exif.h"

namespace stoker {
namespace {

constexpr uint16_t kTagOrientation = 0x0112;
constexpr uint16_t kTypeShort = 3;

// Integers of either byte order; 0 outside the data, which no field that is read here may be.
class Tiff {
 public:
  explicit Tiff(Bytes data) : data_(data), big_endian_(data.size() > 1 && data[0] == 'M') {}

  bool valid() const {
    if (data_.size() < 8 || data_[0] != data_[1]) return false;
    return (data_[0] == 'I' || data_[0] == 'M') && u16(2) == 42;
  }
  uint16_t u16(size_t at) const {
    if (at + 2 > data_.size()) return 0;
    return static_cast<uint16_t>(big_endian_ ? data_[at] << 8 | data_[at + 1]
                                             : data_[at + 1] << 8 | data_[at]);
  }
  uint32_t u32(size_t at) const {
    const uint32_t first = u16(at), second = u16(at + 2);
    return big_endian_ ? first << 16 | second : second << 16 | first;
  }

 private:
  Bytes data_;
  bool big_endian_;
};

}  // namespace

int exif_orientation(Bytes bytes) {
  const Tiff tiff(bytes);
  if (!tiff.valid()) return 1;
  const size_t directory = tiff.u32(4);
  const size_t entries = tiff.u16(directory);
  for (size_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + 12 * i;
    if (entry >= bytes.size()) break;  // 65,535 entries are soon said
    if (tiff.u16(entry) != kTagOrientation) continue;
    const int value = tiff.u16(entry + 8);
    return tiff.u16(entry + 2) == kTypeShort && value >= 1 && value <= 8 ? value : 1;
  }
  return 1;
}

}  // namespace stoker
