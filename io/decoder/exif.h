#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "io/core/system/memory.h"

namespace stoker {

// The first directory of a TIFF structure: of a TIFF file, or of the EXIF data of another image,
// which are one after their "Exif\0\0". TIFF 6.0, section 2; CIPA DC-008 (Exif 2.32), 4.6.2. Refers
// to the bytes, and looks at nothing outside of them. Any thread; never throws.
class TiffDirectory {
 public:
  explicit TiffDirectory(Bytes tiff);

  // Does it lie in the data, as a whole?
  bool complete() const;
  // Where the entry of a field lies: tag, type, count and, in its last four bytes, the value where
  // it fits. Nothing: there is no such field.
  std::optional<size_t> find(uint16_t tag) const;
  // How many values the field of this entry has.
  uint32_t count(size_t entry) const { return u32(entry + 4); }
  // Number `index` of them, of whatever type, as Pillow reads it: bytes are no numbers. Nothing:
  // there is no such value, or it is damaged.
  std::optional<double> number(size_t entry, uint32_t index) const;
  // The first value of a field. Nothing: as both above.
  std::optional<double> number(uint16_t tag) const;

 private:
  // An unsigned integer of so many bytes; 0 outside of the data.
  uint64_t whole(size_t at, size_t bytes) const;
  uint16_t u16(size_t at) const { return static_cast<uint16_t>(whole(at, 2)); }
  uint32_t u32(size_t at) const { return static_cast<uint32_t>(whole(at, 4)); }
  // One value of this type.
  std::optional<double> value(uint16_t type, size_t at) const;

  Bytes data_;
  bool big_endian_;
};

// The tag of the orientation, in a TIFF file and in EXIF data.
inline constexpr uint16_t kTagOrientation = 0x0112;

// The orientation (1 to 8) in a TIFF structure; 1 (as stored) if it is missing or damaged.
int exif_orientation(Bytes tiff);

}  // namespace stoker
