#include <algorithm>
#include <array>

#include "io/core/error.h"
#include "io/decoder/augment.h"
#include "io/decoder/grey.h"
#include "io/decoder/normalise.h"
#include "io/decoder/options.h"

namespace stoker {
namespace {

struct BytesOptions : ImageOptions {
  int64_t row = 0;
  static constexpr std::array kIdle{"augment.color_jitter", "limits.max_scans"};
  template <class V>
  void visit(V& v) {
    v("row", row,
      "Bytes in each row of the image. 0: 32 to 1,024 bytes, the more the larger the file is.",
      Limits{0, 16384});
    ImageOptions::visit(v);
  }
  void check(const Section& section) const {
    if (augment.color_jitter) {
      section.fail("augment", "must have no color_jitter: bytes are grey levels");
    }
  }
  SampleSpec spec() const { return {size, size, 1, output}; }
};

// Nataraj et al., "Malware images: visualization and automatic classification" (VizSec 2011),
// table 1.
int64_t row_of(size_t bytes) {
  constexpr struct {
    size_t below;
    int64_t row;
  } kRows[] = {{10'000, 32},   {30'000, 64},   {60'000, 128},   {100'000, 256},
               {200'000, 384}, {500'000, 512}, {1'000'000, 768}};
  for (const auto& [below, row] : kRows) {
    if (bytes < below) return row;
  }
  return 1024;
}

// A file as the rows of a grey image, whatever it holds. What does not fill the last row is left
// out.
class BytesSession final : public DecoderSession {
 public:
  explicit BytesSession(const BytesOptions& options)
      : options_(options), resizer_(options.resize) {}

  void decode(Bytes encoded, const DecodeMode& mode, uint8_t* out) override {
    if (encoded.empty()) throw BadSample(BadReason::empty, "the file has no bytes");
    options_.limits.check_bytes(encoded.size());
    const auto bytes = static_cast<int64_t>(encoded.size());
    const int64_t row = options_.row > 0 ? options_.row : row_of(encoded.size());
    const GreyView image{encoded.data(), std::min(row, bytes), std::max<int64_t>(bytes / row, 1)};
    options_.limits.check_size(image.width, image.height);
    const SamplePlan plan = plan_sample(options_, mode, image.width, image.height);
    const auto real = [](int64_t pixels) { return static_cast<double>(pixels); };
    const Geometry geometry{
        {real(plan.crop.x), real(plan.crop.y), real(plan.crop.width), real(plan.crop.height)},
        options_.size,
        options_.size,
        plan.flip_x,
        plan.flip_y};
    if (options_.output == PixelType::uint8) return resizer_.resize(image, geometry, out);
    const auto pixels = static_cast<size_t>(options_.size * options_.size);
    uint8_t* const levels = levels_.resize(pixels);
    resizer_.resize(image, geometry, levels);
    auto* const values = reinterpret_cast<float*>(out);
    for (size_t i = 0; i < pixels; ++i) {
      values[i] = (static_cast<float>(levels[i]) - static_cast<float>(kGreyMean[0])) *
                  static_cast<float>(kGreyScale[0]);
    }
  }

 private:
  const BytesOptions& options_;
  GreyResizer resizer_;
  Buffer levels_;
};

using ByteImage = SessionDecoder<BytesOptions, BytesSession>;

STOKER_REGISTER(Decoder, "bytes", ByteImage);

}  // namespace
}  // namespace stoker
