#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "io/core/error.h"
#include "io/decoder/augment.h"
#include "io/decoder/decoder_options.h"
#include "io/decoder/pixels.h"
#include "io/decoder/resample/resample.h"
#include "io/decoder/resize.h"

namespace stoker {
namespace {

// Pixels of one channel: rows without padding. Refers to them.
struct GreyView {
  const uint8_t* data = nullptr;
  int64_t width = 0;
  int64_t height = 0;
};

// Resizer's crop, mirror and resize for one channel, with the same filters; its levels differ from
// those of an equal grey image in colour by one at most, for nothing is rounded in between. One
// thread at a time; keeps its memory.
class GreyResizer {
 public:
  explicit GreyResizer(ResizeMethod method) : method_(method) {}
  // Writes geometry.height rows of geometry.width pixels without padding into `out`. Nothing
  // outside of the crop is read.
  void resize(const GreyView& image, const Geometry& geometry, uint8_t* out);

 private:
  // A row of the image, scaled to the output's width: level * 256.
  const uint16_t* line(const GreyView& image, int64_t row);

  ResizeMethod method_;
  Filter across_, down_;
  // Lines of the rows under the filter: row r in place r % taps.
  std::vector<uint16_t> lines_;
  std::vector<int64_t> rows_;
};

const uint16_t* GreyResizer::line(const GreyView& image, int64_t row) {
  const int64_t size = across_.axis.size;
  const auto place = static_cast<size_t>(row % down_.taps);
  uint16_t* const line = lines_.data() + place * static_cast<size_t>(size);
  if (rows_[place] == row) return line;
  rows_[place] = row;
  const uint8_t* const in = image.data + row * image.width;
  const auto one = static_cast<uint32_t>(across_.one);
  for (int64_t x = 0; x < size; ++x) {
    const uint8_t* const first = in + across_.first[static_cast<size_t>(x)];
    const uint16_t* const weights = across_.weights_of(x);
    uint32_t sum = 0;
    for (int tap = 0; tap < across_.taps; ++tap) sum += first[tap] * uint32_t{weights[tap]};
    line[x] = static_cast<uint16_t>(uint64_t{sum} * 256 / one);
  }
  return line;
}

void GreyResizer::resize(const GreyView& image, const Geometry& geometry, uint8_t* out) {
  constexpr int32_t kOne = 65536;
  across_.assign(
      {method_, image.width, geometry.crop.x, geometry.crop.width, geometry.width, geometry.flip_x},
      kOne);
  down_.assign({method_, image.height, geometry.crop.y, geometry.crop.height, geometry.height,
                geometry.flip_y},
               kOne);
  const auto taps = static_cast<size_t>(down_.taps);
  const auto size = static_cast<size_t>(geometry.width);
  lines_.resize(taps * size);
  rows_.assign(taps, -1);
  std::vector<const uint16_t*> window(taps);
  for (int64_t y = 0; y < geometry.height; ++y, out += size) {
    const int64_t first = down_.first[static_cast<size_t>(y)];
    const uint16_t* const weights = down_.weights_of(y);
    for (size_t tap = 0; tap < taps; ++tap) {
      window[tap] = line(image, first + static_cast<int64_t>(tap));
    }
    for (size_t x = 0; x < size; ++x) {
      uint64_t sum = 1u << 23;
      for (size_t tap = 0; tap < taps; ++tap) sum += uint64_t{window[tap][x]} * weights[tap];
      out[x] = static_cast<uint8_t>(std::min<uint64_t>(sum >> 24, 255));
    }
  }
}

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
      section.fail("augment",
                   "must have no color_jitter, for bytes are grey levels: set "
                   "decoder.augment.color_jitter=null");
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
