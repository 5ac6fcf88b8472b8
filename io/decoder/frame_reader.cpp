#include "io/decoder/frame_reader.h"

#include <cstring>

#include "io/core/frame_header.h"

namespace stoker {
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
