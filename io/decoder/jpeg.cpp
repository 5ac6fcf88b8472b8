#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/decoder/framing.h"
#include "io/decoder/jpeg/baseline_decoder.h"
#include "io/decoder/jpeg/progressive/progressive_decoder.h"
#include "io/decoder/jpeg_codec.h"
#include "io/decoder/transform.h"

namespace stoker {

EnumNames<Tolerance> enum_names(Tolerance) {
  return {{"strict", Tolerance::strict}, {"as_libjpeg", Tolerance::as_libjpeg}};
}

namespace {

struct JpegOptions : FramedOptions {
  bool scaled_decode = true;
  Tolerance tolerance = Tolerance::strict;
  template <class V>
  void visit(V& v) {
    FramedOptions::visit(v);
    v("scaled_decode", scaled_decode,
      "decode at 1/2, 1/4 or 1/8 where that is still no smaller than the sample: faster, other "
      "pixels");
    v("tolerance", tolerance,
      "of images that libjpeg-turbo warns of. strict: bad samples; as_libjpeg: samples, of the "
      "pixels that it makes, listed in tolerated.csv");
  }
  void check(const Section& section) const {
    FramedOptions::check(section);
    if (tolerance != Tolerance::strict && on_device == OnDevice::decode) {
      section.fail("tolerance", "must be strict with on_device: decode, for the device judges");
    }
  }
};

template <JpegBy by>
struct DecodedBy : JpegOptions {
  DecoderInfo info() const {
    DecoderInfo result = JpegOptions::info();
    result.jpeg = by;
    return result;
  }
};

// The largest reduction of libjpeg's fast ones that leaves at least the sample's size.
int64_t reduction_for(const Rect& crop, int64_t size) {
  for (const int64_t reduction : {8, 4, 2}) {
    if (crop.width >= size * reduction && crop.height >= size * reduction) return reduction;
  }
  return 1;
}

// Ours; null where the processor lacks what they need, or none is wanted.
struct FastDecoders {
  std::unique_ptr<BaselineDecoder> baseline;
  std::unique_ptr<ProgressiveDecoder> progressive;

  PixelRows* decode(Bytes encoded, const JpegHeader& header, std::span<const JpegSegment> segments,
                    const Rect& needed, int64_t reduction) const {
    if (header.process == JpegProcess::progressive) {
      if (progressive == nullptr) return nullptr;
      return progressive->decode(encoded, header, segments, needed, reduction);
    }
    if (baseline == nullptr) return nullptr;
    return baseline->decode(encoded, header, segments, needed, reduction);
  }
};

// The fast decoder where there is one and it vouches for the file, else libjpeg-turbo, which alone
// bears with damage.
class Session : public DecoderSession {
 public:
  Session(const JpegOptions& options, FastDecoders fast)
      : options_(options),
        transform_(options),
        framing_(options),
        fast_(std::move(fast)),
        codec_(options.tolerance) {}

  void decode(Bytes encoded, const DecodeMode& mode, uint8_t* out) override {
    options_.limits.check_bytes(encoded.size());
    const JpegHeader header = read_jpeg_header(encoded, &segments_, options_.tolerance);
    tolerated_ = header.blemish;
    check_decodable(header);
    const SamplePlan plan = transform_.plan(mode, header.width, header.height, header.orientation);
    if (!header.one_scan) options_.limits.check_scans(count_jpeg_scans(encoded, header).count);
    if (framing_.wanted()) return frame(encoded, header, plan, out);
    sample(encoded, header, plan, out);
  }

 private:
  int64_t reduction(const SamplePlan& plan) const {
    return options_.scaled_decode ? reduction_for(plan.crop, options_.size) : 1;
  }

  void frame(Bytes encoded, const JpegHeader& header, const SamplePlan& plan, uint8_t* out) {
    if (framing_.take_encoded(encoded, header, plan, reduction(plan), out)) return;
    const auto made = framing_.for_pixels(plan, header.width, header.height, reduction(plan));
    if (!made) {
      sample(encoded, header, plan, Framing::pixels_of(out));
      return Framing::put_header(framing_.for_sample(), out);
    }
    if (fast_.baseline == nullptr && Framing::is_whole(*made)) {
      by_libjpeg(encoded, header, made->image_width, made->image_height, Framing::pixels_of(out));
      return Framing::put_header(*made, out);
    }
    with_rows(encoded, header, plan, [&](PixelRows& rows) { Framing::fill(*made, rows, out); });
  }

  void sample(Bytes encoded, const JpegHeader& header, const SamplePlan& plan, uint8_t* out) {
    if (fast_.baseline == nullptr && transform_.is_copy(plan, header.width, header.height)) {
      by_libjpeg(encoded, header, header.width, header.height, out);
      return transform_.finish(plan, out);
    }
    with_rows(encoded, header, plan,
              [&](PixelRows& rows) { transform_.apply(plan, rows, reduction(plan), out); });
  }

  // Calls `use` with the image at 1/reduction, of which what the plan crops is there.
  template <class Use>
  void with_rows(Bytes encoded, const JpegHeader& header, const SamplePlan& plan, const Use& use) {
    const int64_t divisor = reduction(plan);
    if (header.blemish.empty()) {
      PixelRows* rows = fast_.decode(encoded, header, segments_, plan.crop, divisor);
      if (rows != nullptr) return use(*rows);
    }
    const int64_t width = (header.width + divisor - 1) / divisor;
    const int64_t height = (header.height + divisor - 1) / divisor;
    uint8_t* rgb = rgb_.resize(static_cast<size_t>(width * height * 3) + PixelView::kSlack);
    by_libjpeg(encoded, header, width, height, rgb);
    ViewRows rows({rgb, width, height});
    use(rows);
  }

  void by_libjpeg(Bytes encoded, const JpegHeader& header, int64_t width, int64_t height,
                  uint8_t* rgb) {
    codec_.decode(encoded, header, width, height, rgb);
    if (!codec_.warning().empty()) tolerated_ = codec_.warning();
  }

  const JpegOptions& options_;
  Transform transform_;
  const Framing framing_;
  FastDecoders fast_;
  JpegCodec codec_;
  std::vector<JpegSegment> segments_;
  Buffer rgb_;
};

// libjpeg-turbo for all that it knows.
struct TurboSession final : Session {
  explicit TurboSession(const JpegOptions& options) : Session(options, {}) {}
};
using TurboJpeg = SessionDecoder<DecodedBy<JpegBy::libjpeg>, TurboSession>;

// The same pixels and the same verdicts from a decoder of our own, for the files that nearly all
// are, and from libjpeg-turbo for the others.
struct FastSession final : Session {
  explicit FastSession(const JpegOptions& options)
      : Session(options, {BaselineDecoder::create(), ProgressiveDecoder::create()}) {}
};
using Jpeg = SessionDecoder<DecodedBy<JpegBy::ours>, FastSession>;

STOKER_REGISTER(Decoder, "jpeg", Jpeg);
STOKER_REGISTER(Decoder, "turbojpeg", TurboJpeg);

}  // namespace
}  // namespace stoker
