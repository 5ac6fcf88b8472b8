#include "io/decoder/jpeg_session.h"

#include <utility>

namespace stoker {

EnumNames<Tolerance> enum_names(Tolerance) {
  return {{"strict", Tolerance::strict}, {"as_libjpeg", Tolerance::as_libjpeg}};
}

void JpegOptions::check(const Section& section) const {
  FramedOptions::check(section);
  if (tolerance != Tolerance::strict && on_device == OnDevice::decode) {
    section.fail("tolerance", "must be strict with on_device: decode, for the device judges");
  }
}

namespace {

// The largest reduction of libjpeg's fast ones that leaves at least the sample's size.
int64_t reduction_for(const Rect& crop, int64_t size) {
  for (const int64_t reduction : {8, 4, 2}) {
    if (crop.width >= size * reduction && crop.height >= size * reduction) return reduction;
  }
  return 1;
}

}  // namespace

JpegSession::JpegSession(const JpegOptions& options, std::unique_ptr<FastJpeg> fast)
    : options_(options),
      transform_(options),
      framing_(options),
      fast_(std::move(fast)),
      codec_(options.tolerance) {}

void JpegSession::decode(Bytes encoded, const DecodeMode& mode, uint8_t* out) {
  options_.limits.check_bytes(encoded.size());
  const JpegHeader header = read_jpeg_header(encoded, &segments_, options_.tolerance);
  tolerated_ = header.blemish;
  check_decodable(header);
  const SamplePlan plan = transform_.plan(mode, header.width, header.height, header.orientation);
  if (!header.one_scan) options_.limits.check_scans(count_jpeg_scans(encoded, header).count);
  if (framing_.wanted()) return frame(encoded, header, plan, out);
  sample(encoded, header, plan, out);
}

int64_t JpegSession::reduction(const SamplePlan& plan) const {
  return options_.scaled_decode ? reduction_for(plan.crop, options_.size) : 1;
}

void JpegSession::frame(Bytes encoded, const JpegHeader& header, const SamplePlan& plan,
                        uint8_t* out) {
  if (framing_.take_encoded(encoded, header, plan, reduction(plan), out)) return;
  const auto made = framing_.for_pixels(plan, header.width, header.height, reduction(plan));
  if (!made) {
    sample(encoded, header, plan, Framing::pixels_of(out));
    return Framing::put_header(framing_.for_sample(), out);
  }
  if (fast_ == nullptr && Framing::is_whole(*made)) {
    by_libjpeg(encoded, header, made->image_width, made->image_height, Framing::pixels_of(out));
    return Framing::put_header(*made, out);
  }
  with_rows(encoded, header, plan, [&](PixelRows& rows) { Framing::fill(*made, rows, out); });
}

void JpegSession::sample(Bytes encoded, const JpegHeader& header, const SamplePlan& plan,
                         uint8_t* out) {
  if (fast_ == nullptr && transform_.is_copy(plan, header.width, header.height)) {
    by_libjpeg(encoded, header, header.width, header.height, out);
    return transform_.finish(plan, out);
  }
  with_rows(encoded, header, plan,
            [&](PixelRows& rows) { transform_.apply(plan, rows, reduction(plan), out); });
}

// Calls `use` with the image at 1/reduction. The part that the plan crops is there; other parts may
// not be.
template <class Use>
void JpegSession::with_rows(Bytes encoded, const JpegHeader& header, const SamplePlan& plan,
                            const Use& use) {
  const int64_t divisor = reduction(plan);
  if (fast_ != nullptr && header.blemish.empty()) {
    PixelRows* rows = fast_->decode(encoded, header, segments_, plan.crop, divisor);
    if (rows != nullptr) return use(*rows);
  }
  const int64_t width = (header.width + divisor - 1) / divisor;
  const int64_t height = (header.height + divisor - 1) / divisor;
  uint8_t* rgb = rgb_.resize(static_cast<size_t>(width * height * 3) + PixelView::kSlack);
  by_libjpeg(encoded, header, width, height, rgb);
  ViewRows rows({rgb, width, height});
  use(rows);
}

void JpegSession::by_libjpeg(Bytes encoded, const JpegHeader& header, int64_t width, int64_t height,
                             uint8_t* rgb) {
  codec_.decode(encoded, header, width, height, rgb);
  if (!codec_.warning().empty()) tolerated_ = codec_.warning();
}

}  // namespace stoker
