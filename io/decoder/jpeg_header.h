#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "io/core/config/config.h"
#include "io/core/system/memory.h"

// The facts about a JPEG file that must be known before it is decoded, read without decoding
// anything: ITU-T T.81, Annex B (markers), Adobe Technical Note 5116 (APP14), EXIF (orientation).

namespace stoker {

// What becomes of a damaged image that libjpeg-turbo can decode with a warning: a bad sample, or
// the sample that libjpeg-turbo makes of it.
enum class Tolerance { strict, as_libjpeg };
EnumNames<Tolerance> enum_names(Tolerance);

// The coding process that the frame header names (T.81, table B.1). The first four are those of
// SOF0 to SOF3, in this order; to_string() has the names in the order of all.
enum class JpegProcess { baseline, extended, progressive, lossless, hierarchical, arithmetic };

// "baseline", "progressive", ...
const char* to_string(JpegProcess process);

// What the segments before the first scan say. A value. The size is that of the image as stored.
struct JpegHeader {
  JpegProcess process = JpegProcess::baseline;
  // Bits per component.
  int precision = 8;
  int64_t width = 0;  // both at least 1
  int64_t height = 0;
  // 1: gray, 3: YCbCr or RGB, 4: CMYK or YCCK. Any other number can be written, too.
  int components = 0;
  // EXIF's orientation, 1 to 8. It is 1 if the file does not say.
  int orientation = 1;
  // Has an Adobe segment; four components are stored inverted then.
  bool adobe = false;
  // The first scan holds all components completely.
  bool one_scan = true;
  // One scan, and all tables that it needs stand before it.
  bool own_tables = false;
  // Where the first scan's entropy-coded data starts in the file.
  size_t first_scan = 0;
  // What Tolerance::strict would have refused first, here; empty: nothing.
  std::string blemish;
};

// A marker with parameters; the payload is a part of the file, without the length. A value that
// must not outlive the file's bytes.
struct JpegSegment {
  // The second byte of the marker, such as 0xdb.
  uint8_t marker = 0;
  Bytes payload;
};

// Reads the segments up to the first scan. Any thread. As strict as libjpeg with warnings taken for
// errors, or only as strict as libjpeg, so that both see the same image. Throws BadSample:
// truncated (ends inside the header), corrupt, or as refuse_file(). `segments`, where given, is
// filled with all of them in order; with a blemish, of no use but to look at.
JpegHeader read_jpeg_header(Bytes file, std::vector<JpegSegment>* segments = nullptr,
                            Tolerance tolerance = Tolerance::strict);

// Throws BadSample(unsupported) for what libjpeg cannot decode to 8-bit RGB.
void check_decodable(const JpegHeader& header);

// What count_jpeg_scans() found. A value.
struct JpegScans {
  // At least 1: the first one is before the data.
  int64_t count = 0;
  // The end-of-image marker is there.
  bool complete = false;
};

// Walks over the entropy-coded data from header.first_scan on, from marker to marker: what is to
// come for a decoder. Decodes nothing; takes the time to look at every byte. Any thread. Never
// throws.
JpegScans count_jpeg_scans(Bytes file, const JpegHeader& header);

}  // namespace stoker
