#include <memory>
#include <span>
#include <utility>

#include "io/decoder/jpeg_session.h"
#include "io/jpeg/decoders.h"

namespace stoker {
namespace {

// Ours; a file of the progressive process is libjpeg-turbo's where the processor lacks what ours
// needs.
class OurDecoders final : public FastJpeg {
 public:
  // Null where the processor lacks what they need.
  static std::unique_ptr<FastJpeg> create() {
    auto baseline = BaselineDecoder::create();
    if (baseline == nullptr) return nullptr;
    return std::make_unique<OurDecoders>(std::move(baseline), ProgressiveDecoder::create());
  }
  OurDecoders(std::unique_ptr<BaselineDecoder> baseline,
              std::unique_ptr<ProgressiveDecoder> progressive)
      : baseline_(std::move(baseline)), progressive_(std::move(progressive)) {}

  PixelRows* decode(Bytes encoded, const JpegHeader& header, std::span<const JpegSegment> segments,
                    const Rect& needed, int64_t reduction) override {
    if (header.process != JpegProcess::progressive) {
      return baseline_->decode(encoded, header, segments, needed, reduction);
    }
    if (progressive_ == nullptr) return nullptr;
    return progressive_->decode(encoded, header, segments, needed, reduction);
  }

 private:
  const std::unique_ptr<BaselineDecoder> baseline_;
  const std::unique_ptr<ProgressiveDecoder> progressive_;
};

// The same pixels and the same verdicts as `turbojpeg`, from a decoder of our own for the files
// that nearly all are, and from libjpeg-turbo for the others.
struct FastSession final : JpegSession {
  explicit FastSession(const JpegOptions& options) : JpegSession(options, OurDecoders::create()) {}
};
using Jpeg = SessionDecoder<DecodedBy<JpegBy::ours>, FastSession>;

STOKER_REGISTER(Decoder, "jpeg", Jpeg);

}  // namespace
}  // namespace stoker
