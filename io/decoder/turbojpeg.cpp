#include <fmt/format.h>
#include <turbojpeg.h>

#include <memory>
#include <string_view>

#include "io/core/error.h"
#include "io/decoder/decoder.h"
#include "io/decoder/jpeg_header.h"
#include "io/decoder/options.h"
#include "io/decoder/transform.h"

namespace stoker {
namespace {

struct TurboJpegOptions : ImageOptions {
  bool scaled_decode = true;
  template <class V>
  void visit(V& v) {
    ImageOptions::visit(v);
    v("scaled_decode", scaled_decode,
      "decode at 1/2, 1/4 or 1/8 where the sample still is no larger: faster, other pixels");
  }
};

struct CloseHandle {
  void operator()(void* handle) const { tjDestroy(handle); }
};

// The largest reduction of libjpeg's fast ones that leaves at least the sample's size.
int64_t reduction_for(const Rect& crop, int64_t size) {
  for (const int64_t reduction : {8, 4, 2}) {
    if (crop.width >= size * reduction && crop.height >= size * reduction) return reduction;
  }
  return 1;
}

// Adobe stores 255 - ink, T.81 itself knows no CMYK: everybody else stores ink.
void cmyk_to_rgb(const uint8_t* cmyk, size_t pixels, bool inverted, uint8_t* rgb) {
  const uint8_t mask = inverted ? 0 : 255;
  for (size_t i = 0; i < pixels; ++i, cmyk += 4) {
    const int light = cmyk[3] ^ mask;
    for (int c = 0; c < 3; ++c) {
      *rgb++ = static_cast<uint8_t>(((cmyk[c] ^ mask) * light + 127) / 255);
    }
  }
}

class Session final : public DecoderSession {
 public:
  explicit Session(const TurboJpegOptions& options)
      : options_(options), transform_(options), handle_(tjInitDecompress()) {
    if (!handle_) throw std::bad_alloc();
  }

  void decode(Bytes encoded, const DecodeMode& mode, uint8_t* out) override {
    options_.limits.check_bytes(encoded.size());
    const JpegHeader header = read_jpeg_header(encoded);
    check_decodable(header);
    const SamplePlan plan = transform_.plan(mode, header.width, header.height, header.orientation);
    if (!header.one_scan) options_.limits.check_scans(count_jpeg_scans(encoded, header).count);

    if (transform_.is_copy(plan, header.width, header.height)) {
      decode_rgb(encoded, header, header.width, header.height, out);
      return transform_.finish(plan, out);
    }
    const int64_t reduction = options_.scaled_decode ? reduction_for(plan.crop, options_.size) : 1;
    const int64_t width = (header.width + reduction - 1) / reduction;
    const int64_t height = (header.height + reduction - 1) / reduction;
    uint8_t* rgb = rgb_.resize(static_cast<size_t>(width * height * 3) + PixelView::kSlack);
    decode_rgb(encoded, header, width, height, rgb);
    transform_.apply(plan, {rgb, width, height}, reduction, out);
  }

 private:
  void decode_rgb(Bytes encoded, const JpegHeader& header, int64_t width, int64_t height,
                  uint8_t* rgb) {
    if (header.components != 4) return decompress(encoded, width, height, TJPF_RGB, rgb);
    const auto pixels = static_cast<size_t>(width * height);
    uint8_t* cmyk = cmyk_.resize(pixels * 4);
    decompress(encoded, width, height, TJPF_CMYK, cmyk);
    cmyk_to_rgb(cmyk, pixels, header.adobe, rgb);
  }

  void decompress(Bytes encoded, int64_t width, int64_t height, int format, uint8_t* out) {
    constexpr int kFlags = TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING;
    const int failed =
        tjDecompress2(handle_.get(), encoded.data(), encoded.size(), out, static_cast<int>(width),
                      0, static_cast<int>(height), format, kFlags);
    if (failed == 0) return;
    const std::string_view message = tjGetErrorStr2(handle_.get());
    if (message == "Premature end of JPEG file") {
      throw BadSample(
          BadReason::truncated,
          fmt::format("the file ends inside its JPEG data, after {} bytes", encoded.size()));
    }
    throw BadSample(BadReason::corrupt, fmt::format("JPEG data: {}", message));
  }

  const TurboJpegOptions& options_;
  Transform transform_;
  std::unique_ptr<void, CloseHandle> handle_;
  Buffer rgb_;
  Buffer cmyk_;
};

// libjpeg-turbo. Warnings are errors: where libjpeg would go on with gray areas, the sample is bad.
class TurboJpeg final : public Decoder {
 public:
  using Options = TurboJpegOptions;
  TurboJpeg(Options options, const Inputs&) : options_(std::move(options)) {}
  SampleSpec spec() const override { return options_.spec(); }
  std::unique_ptr<DecoderSession> open() const override {
    return std::make_unique<Session>(options_);
  }

 private:
  const Options options_;
};

STOKER_REGISTER(Decoder, "turbojpeg", TurboJpeg);

}  // namespace
}  // namespace stoker
