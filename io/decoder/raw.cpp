#include <fmt/format.h>

#include <array>
#include <cstring>

#include "io/core/error.h"
#include "io/core/system/memory.h"
#include "io/decoder/decoder_options.h"
#include "io/decoder/file_kind.h"
#include "io/decoder/pixels.h"
#include "io/decoder/transform.h"

namespace stoker {

// Where the three colours of a stored pixel lie: side by side, or in a plane of each colour.
// automatic: side by side, and no data set says otherwise.
enum class RawLayout { automatic, nhwc, nchw };
EnumNames<RawLayout> enum_names(RawLayout) {
  return {{"auto", RawLayout::automatic}, {"nhwc", RawLayout::nhwc}, {"nchw", RawLayout::nchw}};
}

namespace {

struct RawOptions : ImageOptions {
  int64_t height = 224;
  int64_t width = 224;
  RawLayout layout = RawLayout::automatic;
  static constexpr std::array kIdle{"limits.max_scans"};
  template <class V>
  void visit(V& v) {
    v("height", height, "Number of rows of a stored image.", Limits{1, 65535});
    v("width", width, "Number of columns of a stored image.", Limits{1, 65535});
    v("layout", layout,
      "How the colours of a stored image lie. `nhwc`: the three of a pixel side by side. `nchw`: a "
      "plane of each colour. `auto`: as `nhwc`, and images of which the data set says another "
      "shape, or none, are refused.");
    ImageOptions::visit(v);
  }
  DecoderInfo info() const {
    DecoderInfo result = ImageOptions::info();
    result.stored = "pixels";
    result.arrays = [options = *this](std::span<const StoredArray> arrays) {
      return options.refuse(arrays);
    };
    return result;
  }
  // ArrayVerdict.
  std::string refuse(std::span<const StoredArray> arrays) const;
};

// The option that takes a shape of three axes with another place of the colours or other sides;
// empty: none does.
std::string options_for(const std::vector<int64_t>& shape) {
  if (shape.size() != 3 || (shape[0] != 3 && shape[2] != 3)) return "";
  const bool planes = shape[2] != 3;
  return fmt::format("set decoder.height={} decoder.width={}{}", shape[planes ? 1 : 0],
                     shape[planes ? 2 : 1], planes ? " decoder.layout=nchw" : "");
}

std::string RawOptions::refuse(std::span<const StoredArray> arrays) const {
  const bool planes = layout == RawLayout::nchw;
  const StoredArray taken{"uint8", planes ? std::vector<int64_t>{3, height, width}
                                          : std::vector<int64_t>{height, width, 3}};
  const std::string takes = "takes " + text_of(taken) + ": ";
  if (arrays.size() != 1) return takes + "let nothing follow the images";
  const StoredArray& array = arrays[0];
  if (same_array(array, taken)) return "";
  if (array.type != "uint8") return takes + "write them anew as whole levels from 0 to 255 (uint8)";
  // One that does not say where the colours lie: the options say it.
  if (array.shape.size() < 3 && elements_of(array) == elements_of(taken)) {
    return layout != RawLayout::automatic
               ? ""
               : takes +
                     "set decoder.layout=nhwc if the three colours of a pixel lie side by side, "
                     "or decoder.layout=nchw for a plane of each colour, as in CIFAR";
  }
  const std::string options = options_for(array.shape);
  if (!options.empty()) return takes + options;
  return takes + (array.shape.size() < 2
                      ? "set decoder.height and decoder.width to what they are"
                      : "write them anew with three channels, which are the same for grey images");
}

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
    if (options_.layout == RawLayout::nchw) encoded = interleaved(encoded);
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

  // Planes as rows of RGB.
  Bytes interleaved(Bytes planes) {
    const size_t pixels = planes.size() / 3;
    uint8_t* out = rows_.resize(planes.size());
    for (size_t i = 0; i < pixels; ++i) {
      for (size_t colour = 0; colour < 3; ++colour) *out++ = planes[colour * pixels + i];
    }
    return rows_.bytes();
  }

  const RawOptions& options_;
  Transform transform_;
  Buffer last_row_;
  Buffer rows_;
};

// Pixels as stored: uint8, rows of interleaved RGB, or planes. What remains of loading when
// decoding is free.
using Raw = SessionDecoder<RawOptions, RawSession>;

STOKER_REGISTER(Decoder, "raw", Raw);

}  // namespace
}  // namespace stoker
