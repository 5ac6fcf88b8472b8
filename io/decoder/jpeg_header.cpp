#include "io/decoder/jpeg_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string_view>
#include <utility>

#include "io/core/error.h"
#include "io/decoder/exif.h"
#include "io/decoder/file_kind.h"

namespace stoker {
namespace {

enum Marker : uint8_t {
  kTem = 0x01,
  kSof0 = 0xc0,
  kDht = 0xc4,
  kJpg = 0xc8,
  kDac = 0xcc,
  kSof15 = 0xcf,
  kRst0 = 0xd0,
  kRst7 = 0xd7,
  kSoi = 0xd8,
  kEoi = 0xd9,
  kSos = 0xda,
  kDqt = 0xdb,
  kDnl = 0xdc,
  kDri = 0xdd,
  kApp0 = 0xe0,
  kApp1 = 0xe1,
  kApp14 = 0xee,
  kApp15 = 0xef,
  kCom = 0xfe,
};

bool is_frame(uint8_t marker) {
  return marker >= kSof0 && marker <= kSof15 && marker != kDht && marker != kJpg && marker != kDac;
}

bool stands_alone(uint8_t marker) { return marker == kTem || (marker >= kRst0 && marker <= kRst7); }

bool has_segment(uint8_t marker) {
  return is_frame(marker) || marker == kDht || marker == kDac ||
         (marker >= kSos && marker <= kDri) || (marker >= kApp0 && marker <= kApp15) ||
         marker == kCom;
}

JpegProcess process_of(uint8_t frame_marker) {
  const int number = frame_marker - kSof0;
  if (number < 4) return static_cast<JpegProcess>(number);
  return number >= 9 && number <= 11 ? JpegProcess::arithmetic : JpegProcess::hierarchical;
}

[[noreturn]] void fail(BadReason reason, const std::string& what) { throw BadSample(reason, what); }

// Goes from marker to marker, past what libjpeg goes past.
class Reader {
 public:
  Reader(Bytes file, size_t at, Tolerance tolerance)
      : file_(file), at_(at), tolerance_(tolerance) {}

  size_t at() const { return at_; }
  // What was borne first; empty: nothing.
  const std::string& blemish() const { return blemish_; }
  uint8_t marker() {
    for (const size_t from = at_;;) {
      if (byte(at_) != 0xff) bear(fmt::format("JPEG header: no marker at byte {}", at_));
      while (byte(at_) != 0xff) ++at_;
      while (byte(at_) == 0xff) ++at_;
      const uint8_t marker = byte(at_++);
      if (marker != 0) return marker;
      bear(fmt::format("JPEG header: marker ff00 at byte {}", from));
    }
  }
  Bytes segment() {
    const size_t begin = at_;
    size_t length = size_t{byte(begin)} << 8 | byte(begin + 1);
    if (length < 2) {
      bear(fmt::format("JPEG header: segment of length {} at byte {}", length, begin));
      length = 2;
    }
    if (length > file_.size() - begin) {
      if (tolerance_ == Tolerance::strict) ends_early();
      bear(fmt::format("JPEG header: the file ends inside its segment at byte {}", begin));
      length = file_.size() - begin;
    }
    at_ += length;
    return file_.subspan(begin + 2, length - 2);
  }

 private:
  void bear(std::string what) {
    if (tolerance_ == Tolerance::strict) fail(BadReason::corrupt, what);
    if (blemish_.empty()) blemish_ = std::move(what);
  }
  [[noreturn]] void ends_early() const {
    fail(BadReason::truncated,
         fmt::format("the file ends inside its JPEG header, after {} bytes", file_.size()));
  }
  uint8_t byte(size_t at) const {
    if (at >= file_.size()) ends_early();
    return file_[at];
  }

  Bytes file_;
  size_t at_;
  const Tolerance tolerance_;
  std::string blemish_;
};

bool starts_with(Bytes bytes, std::string_view prefix) {
  return bytes.size() >= prefix.size() &&
         std::memcmp(bytes.data(), prefix.data(), prefix.size()) == 0;
}

void read_frame(uint8_t marker, Bytes segment, JpegHeader& header) {
  if (header.components != 0) fail(BadReason::corrupt, "JPEG header: two frame headers");
  if (segment.size() < 6 || segment.size() != 6 + 3u * segment[5]) {
    fail(BadReason::corrupt, fmt::format("JPEG header: frame header of {} bytes", segment.size()));
  }
  header.process = process_of(marker);
  header.precision = segment[0];
  header.height = segment[1] << 8 | segment[2];
  header.width = segment[3] << 8 | segment[4];
  header.components = segment[5];
  if (header.width == 0 || header.height == 0 || header.components == 0) {
    fail(BadReason::corrupt, fmt::format("JPEG header: {}x{} pixels of {} components", header.width,
                                         header.height, header.components));
  }
}

// Which tables a file has defined. libjpeg keeps those of the last file for one that lacks its own.
class Tables {
 public:
  void read(uint8_t marker, Bytes segment) {
    while (marker == kDqt && !segment.empty()) {
      quantisation_ |= bit(segment[0] & 15);
      segment = behind(segment, segment[0] >> 4 != 0 ? 129 : 65);
    }
    while (marker == kDht && segment.size() >= 17) {
      huffman_ |= bit(segment[0] & 31);
      segment = behind(segment, std::accumulate(segment.begin() + 1, segment.begin() + 17, 17u));
    }
    if (is_frame(marker)) frame_ = segment;
  }
  bool complete(Bytes scan) const {
    const size_t components = scan[0];
    if (scan.size() < 1 + 2 * components || frame_.size() < 6 + 3 * components) return false;
    for (size_t i = 0; i < components; ++i) {
      const uint8_t dc = scan[2 + 2 * i] >> 4, ac = scan[2 + 2 * i] & 15;
      if (!(quantisation_ & bit(frame_[8 + 3 * i])) || !(huffman_ & bit(dc)) ||
          !(huffman_ & bit(ac | 16))) {
        return false;
      }
    }
    return true;
  }

 private:
  static uint32_t bit(int slot) { return slot < 32 ? 1u << slot : 0; }
  static Bytes behind(Bytes bytes, size_t size) {
    return bytes.subspan(std::min(bytes.size(), size));
  }

  uint32_t quantisation_ = 0;
  uint32_t huffman_ = 0;  // 16 and more: AC
  Bytes frame_;
};

void read_application(uint8_t marker, Bytes segment, bool& has_exif, JpegHeader& header) {
  using namespace std::string_view_literals;
  if (marker == kApp1 && !has_exif && starts_with(segment, "Exif\0\0"sv)) {
    has_exif = true;
    header.orientation = exif_orientation(segment.subspan(6));
  }
  if (marker == kApp14 && segment.size() >= 12 && starts_with(segment, "Adobe"sv)) {
    header.adobe = true;
  }
}

}  // namespace

const char* to_string(JpegProcess process) {
  constexpr const char* kNames[] = {"baseline", "extended",     "progressive",
                                    "lossless", "hierarchical", "arithmetic"};
  return kNames[static_cast<size_t>(process)];
}

JpegHeader read_jpeg_header(Bytes file, std::vector<JpegSegment>* segments, Tolerance tolerance) {
  if (file_kind(file).format != ImageFormat::jpeg) refuse_file(file);
  if (segments != nullptr) segments->clear();
  JpegHeader header;
  bool has_exif = false;
  Tables tables;
  Reader reader(file, 2, tolerance);
  for (;;) {
    const size_t at = reader.at();
    const uint8_t marker = reader.marker();
    if (stands_alone(marker)) continue;
    if (marker == kEoi)
      fail(BadReason::corrupt, "JPEG header: the image ends before its first scan");
    if (!has_segment(marker)) {
      fail(BadReason::corrupt, fmt::format("JPEG header: marker ff{:02x} at byte {}", marker, at));
    }
    const Bytes segment = reader.segment();
    if (segments != nullptr) segments->push_back({marker, segment});
    if (is_frame(marker)) read_frame(marker, segment, header);
    read_application(marker, segment, has_exif, header);
    tables.read(marker, segment);
    if (marker != kSos) continue;
    if (header.components == 0) fail(BadReason::corrupt, "JPEG header: a scan without a frame");
    if (segment.empty()) fail(BadReason::corrupt, "JPEG header: empty scan header");
    header.one_scan = header.process != JpegProcess::progressive &&
                      header.process != JpegProcess::arithmetic && segment[0] == header.components;
    header.blemish = reader.blemish();
    header.own_tables = header.one_scan && header.blemish.empty() && tables.complete(segment);
    header.first_scan = reader.at();
    return header;
  }
}

void check_decodable(const JpegHeader& header) {
  const bool process =
      header.process != JpegProcess::lossless && header.process != JpegProcess::hierarchical;
  const bool components =
      header.components == 1 || header.components == 3 || header.components == 4;
  if (process && components && header.precision == 8) return;
  fail(BadReason::unsupported,
       fmt::format("{} JPEG of {} bits and {} components: only baseline, extended, progressive and "
                   "arithmetic ones of 8 bits and 1, 3 or 4 components can be decoded",
                   to_string(header.process), header.precision, header.components));
}

JpegScans count_jpeg_scans(Bytes file, const JpegHeader& header) {
  JpegScans scans{1, false};
  size_t at = header.first_scan;
  while (at < file.size()) {
    const void* found = std::memchr(file.data() + at, 0xff, file.size() - at);
    if (found == nullptr) break;
    at = static_cast<size_t>(static_cast<const uint8_t*>(found) - file.data()) + 1;
    if (at == file.size()) break;
    const uint8_t marker = file[at];
    if (marker == kEoi) return {scans.count, true};
    if (!has_segment(marker)) continue;
    if (at + 2 >= file.size()) break;
    if (marker == kSos) ++scans.count;
    at += 1u + (size_t{file[at + 1]} << 8 | file[at + 2]);
  }
  return scans;
}

}  // namespace stoker
