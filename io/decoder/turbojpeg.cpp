#include <memory>

#include "io/decoder/decoder.h"
#include "io/decoder/jpeg_codec.h"
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

// The largest reduction of libjpeg's fast ones that leaves at least the sample's size.
int64_t reduction_for(const Rect& crop, int64_t size) {
  for (const int64_t reduction : {8, 4, 2}) {
    if (crop.width >= size * reduction && crop.height >= size * reduction) return reduction;
  }
  return 1;
}

class Session final : public DecoderSession {
 public:
  explicit Session(const TurboJpegOptions& options) : options_(options), transform_(options) {}

  void decode(Bytes encoded, const DecodeMode& mode, uint8_t* out) override {
    options_.limits.check_bytes(encoded.size());
    const JpegHeader header = read_jpeg_header(encoded);
    check_decodable(header);
    const SamplePlan plan = transform_.plan(mode, header.width, header.height, header.orientation);
    if (!header.one_scan) options_.limits.check_scans(count_jpeg_scans(encoded, header).count);

    if (transform_.is_copy(plan, header.width, header.height)) {
      codec_.decode(encoded, header, header.width, header.height, out);
      return transform_.finish(plan, out);
    }
    const int64_t reduction = options_.scaled_decode ? reduction_for(plan.crop, options_.size) : 1;
    const int64_t width = (header.width + reduction - 1) / reduction;
    const int64_t height = (header.height + reduction - 1) / reduction;
    uint8_t* rgb = rgb_.resize(static_cast<size_t>(width * height * 3) + PixelView::kSlack);
    codec_.decode(encoded, header, width, height, rgb);
    transform_.apply(plan, {rgb, width, height}, reduction, out);
  }

 private:
  const TurboJpegOptions& options_;
  Transform transform_;
  JpegCodec codec_;
  Buffer rgb_;
};

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
