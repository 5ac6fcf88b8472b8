#include "io/decoder/frame_options.h"

#include <string>

#include "io/core/frame_header.h"
#include "io/decoder/pixel_rows.h"

namespace stoker {

EnumNames<OnDevice> enum_names(OnDevice) {
  return {
      {"nothing", OnDevice::nothing}, {"resize", OnDevice::resize}, {"decode", OnDevice::decode}};
}

void FramedOptions::check(const Section& section) const {
  if (on_device == OnDevice::nothing) return;
  if (augment.color_jitter) {
    section.fail("on_device",
                 "must be nothing with augment.color_jitter, which works on resized pixels");
  }
  if (output != PixelType::uint8) {
    section.fail("on_device", "must be nothing with output: float32, for the device normalises");
  }
  const auto least = kFrameHeader + ImageOptions::spec().bytes() + PixelView::kSlack;
  if (frame.bytes < least || frame.bytes > (uint64_t{1} << 30)) {
    section.fail("frame", "must hold a header and a resized sample: from " + std::to_string(least) +
                              " bytes to 1 GiB");
  }
}

SampleSpec FramedOptions::spec() const {
  SampleSpec spec = ImageOptions::spec();
  // Headers are read where they lie.
  if (on_device != OnDevice::nothing) spec.frame = frame.bytes / kFrameHeader * kFrameHeader;
  return spec;
}

}  // namespace stoker
