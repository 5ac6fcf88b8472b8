#include "io/decoder/frame_reader.h"

#include <cstring>

#include "io/decoder/transform.h"

namespace stoker {
namespace {

// The decoded image, of which only the part in the frame is asked for.
class FrameRows final : public PixelRows {
 public:
  FrameRows(const FrameHeader& header, const uint8_t* pixels)
      : PixelRows(header.image_width, header.image_height), header_(header), pixels_(pixels) {}
  const uint8_t* row(int64_t y) override {
    return pixels_ + ((y - header_.y) * header_.width - header_.x) * 3;
  }

 private:
  const FrameHeader& header_;
  const uint8_t* const pixels_;
};

bool is_ready(const FrameHeader& header, int64_t size) {
  return header.image_width == size && header.image_height == size && header.crop_width == size &&
         header.crop_height == size && header.reduction == 1 && !header.flip_x && !header.flip_y &&
         !header.transpose;
}

}  // namespace

PixelView FrameReader::decode(const FrameHeader& header, const uint8_t* encoded) {
  const Bytes file(encoded, header.bytes);
  const int64_t width = header.image_width, height = header.image_height;
  uint8_t* rgb = rgb_.resize(static_cast<size_t>(width * height * 3) + PixelView::kSlack);
  codec_.decode(file, read_jpeg_header(file), width, height, rgb);
  return {rgb, width, height};
}

void FrameReader::read(const uint8_t* frame, int64_t size, uint8_t* out) {
  FrameHeader header;
  std::memcpy(&header, frame, sizeof header);
  const uint8_t* pixels = frame + header.offset;
  if (header.kind == FrameKind::jpeg) {
    pixels = decode(header, pixels).data;
    header.x = header.y = 0;
    header.width = header.image_width;
    header.height = header.image_height;
  }
  const auto bytes = static_cast<size_t>(size * size * 3);
  if (is_ready(header, size)) {
    std::memcpy(out, pixels, bytes);
    return;
  }
  const double scale = 1.0 / header.reduction;
  const Box crop{header.crop_x * scale, header.crop_y * scale, header.crop_width * scale,
                 header.crop_height * scale};
  const Geometry geometry{crop, size, size, header.flip_x != 0, header.flip_y != 0};
  FrameRows rows(header, pixels);
  uint8_t* resized = header.transpose ? turned_.resize(bytes) : out;
  (header.antialias ? antialias_ : bilinear_).resize(rows, geometry, resized);
  if (header.transpose) transpose_pixels(resized, size, out);
}

}  // namespace stoker
