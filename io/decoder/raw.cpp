#include <fmt/format.h>

#include <array>
#include <cstring>

#include "io/core/error.h"
#include "io/core/stream_copy.h"
#include "io/decoder/decoder_options.h"
#include "io/decoder/file_kind.h"
#include "io/decoder/pixel_rows.h"
#include "io/decoder/transform.h"

namespace stoker {
namespace {

struct RawOptions : ImageOptions {
  int64_t height = 224;
  int64_t width = 224;
  static constexpr std::array kIdle{"limits.max_scans"};
  template <class V>
  void visit(V& v) {
    v("height", height, "Number of rows of a stored image.", Limits{1, 65535});
    v("width", width, "Number of columns of a stored image.", Limits{1, 65535});
    ImageOptions::visit(v);
  }
  DecoderInfo info() const {
    DecoderInfo info = ImageOptions::info();
    info.stored = "pixels";
    return info;
  }
};

// Rows where they lie; only the last ones are copied, because the resizer reads some bytes behind a
// row.
class StoredRows final : public PixelRows {
 public:
  StoredRows(const PixelView& view, Buffer& last)
      : PixelRows(view.width, view.height), view_(view), last_(last) {}

  const uint8_t* row(int64_t y) override {
    const uint8_t* const stored = view_.data + static_cast<size_t>(y) * view_.stride;
    const auto behind = static_cast<size_t>(view_.height - 1 - y) * view_.stride;
    if (behind >= PixelView::kSlack) return stored;
    uint8_t* const copy = last_.resize(view_.stride + PixelView::kSlack);
    std::memcpy(copy, stored, view_.stride);
    return copy;
  }

 private:
  const PixelView view_;
  Buffer& last_;
};

class RawSession final : public DecoderSession {
 public:
  explicit RawSession(const RawOptions& options) : options_(options), transform_(options) {}

  void decode(Bytes encoded, const DecodeMode& mode, uint8_t* out) override {
    options_.limits.check_bytes(encoded.size());
    check_length(encoded);
    const SamplePlan plan = transform_.plan(mode, options_.width, options_.height, 1);
    if (transform_.is_copy(plan, options_.width, options_.height)) {
      stream_copy(out, encoded.data(), encoded.size());
      return transform_.finish(plan, out);
    }
    StoredRows rows({encoded.data(), options_.width, options_.height}, last_row_);
    transform_.apply(plan, rows, 1, out);
  }

 private:
  void check_length(Bytes encoded) const {
    const size_t bytes = encoded.size();
    const auto expected = static_cast<size_t>(options_.width * options_.height * 3);
    if (bytes == expected) return;
    const FileKind kind = file_kind(encoded);
    if (kind.format != ImageFormat::none) {
      throw BadSample(
          BadReason::unsupported,
          fmt::format("it is {}, and raw takes stored pixels: set decoder.type=auto, or "
                      "let dataset.type=decoded decode it",
                      kind.name));
    }
    const BadReason reason = bytes == 0         ? BadReason::empty
                             : bytes < expected ? BadReason::truncated
                                                : BadReason::corrupt;
    throw BadSample(reason, fmt::format("{} bytes where {}x{} RGB pixels are {} bytes (raw takes "
                                        "stored pixels, such as those of dataset.type=decoded)",
                                        bytes, options_.width, options_.height, expected));
  }

  const RawOptions& options_;
  Transform transform_;
  Buffer last_row_;
};

// Pixels as stored: uint8, rows of interleaved RGB. What remains of loading when decoding is free.
using Raw = SessionDecoder<RawOptions, RawSession>;

STOKER_REGISTER(Decoder, "raw", Raw);

}  // namespace
}  // namespace stoker
