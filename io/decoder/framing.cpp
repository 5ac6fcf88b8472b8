#include "io/decoder/framing.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "io/core/random.h"
#include "io/core/sample_spec.h"

namespace stoker {
namespace {

// A wider filter has more taps than a device's table for them (frame_math.h).
constexpr int64_t kMaxScale = 8;
// Bytes of a file that decide who decodes it.
constexpr size_t kTail = 16;

bool has_few_taps(ResizeMethod method, int64_t width, int64_t height, int64_t size) {
  return method == ResizeMethod::bilinear || std::max(width, height) <= kMaxScale * size;
}

int32_t narrow(int64_t pixels) { return static_cast<int32_t>(pixels); }

FrameHeader header_of(const SamplePlan& plan, int64_t width, int64_t height, int64_t reduction,
                      ResizeMethod method) {
  FrameHeader header;
  header.image_width = narrow((width + reduction - 1) / reduction);
  header.image_height = narrow((height + reduction - 1) / reduction);
  header.crop_x = narrow(plan.crop.x);
  header.crop_y = narrow(plan.crop.y);
  header.crop_width = narrow(plan.crop.width);
  header.crop_height = narrow(plan.crop.height);
  header.reduction = static_cast<uint8_t>(reduction);
  header.flip_x = plan.flip_x;
  header.flip_y = plan.flip_y;
  header.transpose = plan.transpose;
  header.antialias = method == ResizeMethod::antialias;
  header.offset = kFrameHeader;
  return header;
}

}  // namespace

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

Framing::Framing(const FramedOptions& options)
    : options_(options), capacity_(options.spec().frame) {}

// By the file's own bytes: whatever is read before it, and however often. The last ones are
// compressed data and differ from file to file.
bool Framing::is_the_devices(Bytes encoded) const {
  if (options_.on_device_share >= 1) return true;
  uint64_t seed = encoded.size();
  for (const uint8_t byte : encoded.last(std::min<size_t>(encoded.size(), kTail))) {
    seed = mix(seed, byte);
  }
  return Random(seed).uniform() < options_.on_device_share;
}

bool Framing::take_encoded(Bytes encoded, const JpegHeader& header, const SamplePlan& plan,
                           int64_t reduction, uint8_t* frame) const {
  const bool possible =
      options_.on_device == OnDevice::decode && header.process == JpegProcess::baseline &&
      header.one_scan && (header.components == 1 || header.components == 3) && !header.adobe &&
      has_few_taps(options_.resize, plan.crop.width, plan.crop.height, options_.size) &&
      kFrameHeader + encoded.size() <= capacity_ && is_the_devices(encoded);
  if (!possible || !count_jpeg_scans(encoded, header).complete) return false;
  FrameHeader made = header_of(plan, header.width, header.height, reduction, options_.resize);
  made.kind = FrameKind::jpeg;
  made.bytes = static_cast<uint32_t>(encoded.size());
  made.width = narrow(header.width);
  made.height = narrow(header.height);
  put_header(made, frame);
  std::memcpy(frame + kFrameHeader, encoded.data(), encoded.size());
  return true;
}

std::optional<FrameHeader> Framing::for_pixels(const SamplePlan& plan, int64_t width,
                                               int64_t height, int64_t reduction) const {
  FrameHeader header = header_of(plan, width, height, reduction, options_.resize);
  const Rect& crop = plan.crop;
  // Rounded outwards where the image was decoded at reduced scale.
  header.x = narrow(crop.x / reduction);
  header.y = narrow(crop.y / reduction);
  const int64_t end_x = (crop.x + crop.width + reduction - 1) / reduction;
  const int64_t end_y = (crop.y + crop.height + reduction - 1) / reduction;
  header.width = narrow(std::min<int64_t>(end_x, header.image_width) - header.x);
  header.height = narrow(std::min<int64_t>(end_y, header.image_height) - header.y);
  const auto bytes = static_cast<size_t>(int64_t{header.width} * header.height * 3);
  if (!has_few_taps(options_.resize, header.width, header.height, options_.size) ||
      kFrameHeader + bytes + PixelView::kSlack > capacity_) {
    return std::nullopt;
  }
  header.bytes = static_cast<uint32_t>(bytes);
  return header;
}

FrameHeader Framing::for_sample() const {
  const int64_t size = options_.size;
  SamplePlan plan;
  plan.crop = {0, 0, size, size};
  FrameHeader header = header_of(plan, size, size, 1, options_.resize);
  header.width = header.height = narrow(size);
  header.bytes = static_cast<uint32_t>(size * size * 3);
  return header;
}

bool Framing::is_whole(const FrameHeader& header) {
  return header.width == header.image_width && header.height == header.image_height;
}

void Framing::put_header(const FrameHeader& header, uint8_t* frame) {
  std::memcpy(frame, &header, sizeof header);
}

void Framing::fill(const FrameHeader& header, PixelRows& image, uint8_t* frame) {
  put_header(header, frame);
  const size_t row_bytes = static_cast<size_t>(header.width) * 3;
  uint8_t* out = pixels_of(frame);
  for (int64_t y = header.y; y < header.y + header.height; ++y, out += row_bytes) {
    std::memcpy(out, image.row(y) + static_cast<size_t>(header.x) * 3, row_bytes);
  }
}

namespace {

// The pixels are normalised next.
Transform make_transform(int64_t size, ResizeMethod method) {
  ImageOptions options;
  options.size = size;
  options.resize = method;
  return Transform(options, Store::cached);
}

}  // namespace

FrameReader::FrameReader(int64_t size)
    : bilinear_(make_transform(size, ResizeMethod::bilinear)),
      antialias_(make_transform(size, ResizeMethod::antialias)) {}

void FrameReader::read(const uint8_t* frame, uint8_t* out) {
  FrameHeader header;
  std::memcpy(&header, frame, sizeof header);
  const uint8_t* pixels = frame + header.offset;
  if (header.kind == FrameKind::jpeg) {
    const Bytes file(pixels, header.bytes);
    header.x = header.y = 0;
    header.width = header.image_width;
    header.height = header.image_height;
    const auto bytes = static_cast<size_t>(int64_t{header.width} * header.height * 3);
    uint8_t* rgb = rgb_.resize(bytes + PixelView::kSlack);
    codec_.decode(file, read_jpeg_header(file), header.width, header.height, rgb);
    pixels = rgb;
  }
  // The decoded image. The frame holds the part that will be asked for.
  const size_t stride = static_cast<size_t>(header.width) * 3;
  const int64_t before = (int64_t{header.y} * header.width + header.x) * 3;
  ViewRows rows({pixels - before, header.image_width, header.image_height, stride});
  const SamplePlan plan{{header.crop_x, header.crop_y, header.crop_width, header.crop_height},
                        header.flip_x != 0,
                        header.flip_y != 0,
                        header.transpose != 0,
                        {}};
  (header.antialias ? antialias_ : bilinear_).apply(plan, rows, header.reduction, out);
}

}  // namespace stoker
