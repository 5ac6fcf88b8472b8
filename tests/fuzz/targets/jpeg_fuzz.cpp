#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "io/core/error.h"
#include "io/decoder/jpeg_codec.h"
#include "io/jpeg/decoders.h"
#include "tests/decoder/libjpeg.h"
#include "tests/fuzz/target.h"

namespace stoker {
namespace {

// So that an input takes microseconds: what a decoder does, it does in a few blocks.
constexpr int64_t kMaxFuzzedPixels = 1 << 14;
constexpr int64_t kMaxFuzzedScans = 24;

// libjpeg-turbo is not instrumented: with the memory sanitizer our decoder runs alone.
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#define STOKER_FUZZ_ALONE
#endif
#endif
#ifdef STOKER_FUZZ_ALONE
constexpr bool kAlone = true;
#else
constexpr bool kAlone = false;
#endif

struct JpegOutcome {
  std::string verdict;  // empty: decoded
  std::vector<uint8_t> rgb;
  bool operator==(const JpegOutcome&) const = default;
};

// Our decoders beside libjpeg-turbo, with all that a session of the decoder `jpeg` keeps from file
// to file: where ours gives up, libjpeg's verdict is the same whatever it has decoded before.
class JpegDifferential {
 public:
  void check(Bytes file) {
    if (!kAlone) check_tolerance(file);
    const JpegHeader header = read_jpeg_header(file, &segments_);
    check_decodable(header);
    if (takes_long(file, header)) return;
    const Rect whole{0, 0, header.width, header.height};
    const std::optional<std::vector<uint8_t>> ours = decoded_by_us(file, header, whole);
    if (!kAlone) compare(file, header, ours);
    check_part(file, header, ours);
    if (!kAlone) check_reduced(file, header);
  }

 private:
  static bool takes_long(Bytes file, const JpegHeader& header) {
    return header.width * header.height > kMaxFuzzedPixels ||
           (!header.one_scan && count_jpeg_scans(file, header).count > kMaxFuzzedScans);
  }

  // decoder.tolerance: as_libjpeg decodes what libjpeg's own interface does not call an error, to
  // the same pixels.
  void check_tolerance(Bytes file) {
    JpegHeader header;
    try {
      header = read_jpeg_header(file, nullptr, Tolerance::as_libjpeg);
      check_decodable(header);
    } catch (const BadSample&) {
      fuzz::require(!by_libjpeg(file, 1, kMaxFuzzedPixels).error.empty(),
                    "a header refused that libjpeg reads");
      return;
    }
    if (takes_long(file, header)) return;
    const ByLibjpeg theirs = by_libjpeg(file, 1, kMaxFuzzedPixels);
    const JpegOutcome ours = decoded_by(tolerant_, file, header, 0x5a);
    fuzz::require(ours.verdict.empty() == theirs.error.empty(), "another verdict than libjpeg's");
    if (!theirs.error.empty() || theirs.components == 4) return;
    fuzz::require(ours.rgb == theirs.rgb, "tolerant, with other pixels than libjpeg's");
  }

  // At a half, a quarter or an eighth.
  void check_reduced(Bytes file, const JpegHeader& header) {
    PixelRows* rows = rows_by_us(file, header, {0, 0, header.width, header.height},
                                 int64_t{2} << file.size() % 3);
    if (rows == nullptr) return;
    const auto row_bytes = static_cast<size_t>(rows->width() * 3);
    std::vector<uint8_t> rgb(row_bytes * static_cast<size_t>(rows->height()));
    try {
      reference_.decode(file, header, rows->width(), rows->height(), rgb.data());
    } catch (const BadSample&) {
      fuzz::require(false, "decoded by us at a reduced size, and refused by libjpeg");
    }
    for (int64_t y = 0; y < rows->height(); ++y) {
      const uint8_t* row = rows->row(y);
      fuzz::require(
          std::equal(row, row + row_bytes, rgb.data() + static_cast<size_t>(y) * row_bytes),
          "other pixels at a reduced size");
    }
  }

  // Null: it gives up.
  PixelRows* rows_by_us(Bytes file, const JpegHeader& header, const Rect& needed,
                        int64_t reduction) {
    const auto by = [&](const auto& decoder) -> PixelRows* {
      return decoder ? decoder->decode(file, header, segments_, needed, reduction) : nullptr;
    };
    return header.process == JpegProcess::progressive ? by(progressive_) : by(fast_);
  }

  // The rectangle's pixels. Empty: it gives up.
  std::optional<std::vector<uint8_t>> decoded_by_us(Bytes file, const JpegHeader& header,
                                                    const Rect& needed) {
    PixelRows* rows = rows_by_us(file, header, needed, 1);
    if (rows == nullptr) return std::nullopt;
    std::vector<uint8_t> rgb;
    for (int64_t y = needed.y; y < needed.y + needed.height; ++y) {
      const uint8_t* row = rows->row(y) + 3 * needed.x;
      rgb.insert(rgb.end(), row, row + 3 * needed.width);
    }
    return rgb;
  }

  static JpegOutcome decoded_by(JpegCodec& codec, Bytes file, const JpegHeader& header,
                                uint8_t poison) {
    std::vector<uint8_t> rgb(static_cast<size_t>(header.width * header.height * 3), poison);
    try {
      codec.decode(file, header, header.width, header.height, rgb.data());
      return {"", std::move(rgb)};
    } catch (const BadSample& bad) {
      return {std::string(to_string(bad.reason())) + ": " + bad.what(), {}};
    }
  }

  void compare(Bytes file, const JpegHeader& header,
               const std::optional<std::vector<uint8_t>>& ours) {
    const JpegOutcome theirs = decoded_by(reference_, file, header, 0x00);
    if (ours) {
      fuzz::require(theirs.verdict.empty(), "decoded by us, and refused by libjpeg");
      fuzz::require(theirs.rgb == *ours, "other pixels than libjpeg's");
    } else {
      fuzz::require(decoded_by(fallback_, file, header, 0xff) == theirs, "another verdict");
    }
  }

  // Of a file that is good as a whole, every part is; of a damaged one it may be.
  void check_part(Bytes file, const JpegHeader& header,
                  const std::optional<std::vector<uint8_t>>& whole) {
    const Rect part{header.width / 3, header.height / 3, (header.width + 2) / 3,
                    (header.height + 2) / 3};
    const std::optional<std::vector<uint8_t>> found = decoded_by_us(file, header, part);
    if (!whole || kAlone) return;
    fuzz::require(found.has_value(), "a part of a good file is refused");
    for (int64_t y = 0; y < part.height; ++y) {
      const auto row = found->begin() + 3 * part.width * y;
      const auto other = whole->begin() + 3 * (header.width * (part.y + y) + part.x);
      fuzz::require(std::equal(row, row + 3 * part.width, other), "other pixels in a part");
    }
  }

  std::unique_ptr<BaselineDecoder> fast_ = BaselineDecoder::create();
  std::unique_ptr<ProgressiveDecoder> progressive_ = ProgressiveDecoder::create();
  JpegCodec fallback_;
  JpegCodec reference_;
  JpegCodec tolerant_{Tolerance::as_libjpeg};
  std::vector<JpegSegment> segments_;
};

}  // namespace
}  // namespace stoker

STOKER_FUZZ_TARGET(jpeg) {
  static stoker::JpegDifferential differential;
  differential.check(input);
}
