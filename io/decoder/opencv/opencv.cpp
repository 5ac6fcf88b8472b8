#include <cstdlib>
#include <cstring>
#include <opencv2/imgcodecs.hpp>
#include <string_view>

#include "io/core/error.h"
#include "io/decoder/decoder_options.h"
#include "io/decoder/exif.h"
#include "io/decoder/jpeg_header.h"
#include "io/decoder/transform.h"

namespace stoker {
namespace {

// Formats that are told apart by their first bytes. to_string() has their names in this order.
enum class ImageFormat { jpeg, png, webp, bmp };

// What an encoded image says of itself. A value. The size is that of the image as stored, before
// EXIF's orientation.
struct ImageHeader {
  ImageFormat format = ImageFormat::jpeg;
  int64_t width = 0;
  int64_t height = 0;
  int orientation = 1;  // EXIF, 1 to 8
};

using namespace std::string_view_literals;

bool has(Bytes file, size_t at, std::string_view text) {
  return file.size() >= at + text.size() &&
         std::memcmp(file.data() + at, text.data(), text.size()) == 0;
}

// Little-endian; the callers have checked that it is there.
uint32_t little(Bytes file, size_t at, int bytes) {
  uint32_t value = 0;
  for (int i = bytes; i-- > 0;) value = value << 8 | file[at + static_cast<size_t>(i)];
  return value;
}

uint32_t big32(Bytes file, size_t at) {
  return uint32_t{file[at]} << 24 | file[at + 1] << 16 | file[at + 2] << 8 | file[at + 3];
}

void need(Bytes file, size_t bytes, const char* format) {
  if (file.size() >= bytes) return;
  throw BadSample(BadReason::truncated, std::string("the file ends inside its ") + format +
                                            " header, after " + std::to_string(file.size()) +
                                            " bytes");
}

// The data of the EXIF chunk, if any. Chunks: PNG length type data crc; WebP type length data.
int find_orientation(Bytes file, size_t at, bool png) {
  while (file.size() >= at + 8) {
    const size_t length = png ? big32(file, at) : little(file, at + 4, 4);
    if (length > file.size() - at - 8) break;
    Bytes data = file.subspan(at + 8, length);
    if (png ? has(file, at + 4, "eXIf") : has(file, at, "EXIF")) {
      if (has(data, 0, "Exif\0\0"sv)) data = data.subspan(6);
      return exif_orientation(data);
    }
    at += 8 + length + (png ? 4 : length % 2);
  }
  return 1;
}

// If a PNG is cut short, OpenCV refuses it or decodes what there is, according to its version.
void need_all_chunks(Bytes png) {
  for (size_t at = 8; !has(png, at + 4, "IEND"); at += 12 + big32(png, at)) {
    if (png.size() < at + 12) {
      throw BadSample(BadReason::truncated, "the file ends inside its PNG data, after " +
                                                std::to_string(png.size()) + " bytes");
    }
  }
}

ImageHeader read_png(Bytes file) {
  need(file, 24, "PNG");
  if (!has(file, 12, "IHDR")) throw BadSample(BadReason::corrupt, "PNG header: no IHDR chunk");
  need_all_chunks(file);
  return {ImageFormat::png, big32(file, 16), big32(file, 20), find_orientation(file, 8, true)};
}

ImageHeader read_webp(Bytes file) {
  need(file, 30, "WebP");
  ImageHeader header{ImageFormat::webp};
  if (has(file, 12, "VP8X")) {
    if (file[20] & 2) throw BadSample(BadReason::unsupported, "WebP: it is an animation");
    header.width = 1 + little(file, 24, 3);
    header.height = 1 + little(file, 27, 3);
    header.orientation = find_orientation(file, 12, false);
  } else if (has(file, 12, "VP8L")) {
    const uint32_t bits = little(file, 21, 4);
    header.width = 1 + (bits & 0x3fff);
    header.height = 1 + (bits >> 14 & 0x3fff);
  } else if (has(file, 12, "VP8 ")) {
    header.width = little(file, 26, 2) & 0x3fff;
    header.height = little(file, 28, 2) & 0x3fff;
  } else {
    throw BadSample(BadReason::corrupt, "WebP header: no image chunk");
  }
  return header;
}

ImageHeader read_bmp(Bytes file) {
  need(file, 26, "BMP");
  if (little(file, 14, 4) == 12) {
    return {ImageFormat::bmp, little(file, 18, 2), little(file, 20, 2)};
  }
  // A negative height stands for rows from top to bottom.
  const auto width = static_cast<int32_t>(little(file, 18, 4));
  const auto height = static_cast<int32_t>(little(file, 22, 4));
  return {ImageFormat::bmp, width, std::abs(static_cast<int64_t>(height))};
}

ImageHeader read_any(Bytes file) {
  if (has(file, 0, "\x89PNG\r\n\x1a\n")) return read_png(file);
  if (has(file, 0, "RIFF") && has(file, 8, "WEBP")) return read_webp(file);
  if (has(file, 0, "BM")) return read_bmp(file);
  if (file.empty()) throw BadSample(BadReason::empty, "the file is empty");
  if (!has(file, 0, "\xff\xd8"sv)) {
    throw BadSample(BadReason::not_an_image, "neither a JPEG, a PNG, a WebP nor a BMP file");
  }
  const JpegHeader jpeg = read_jpeg_header(file);
  return {ImageFormat::jpeg, jpeg.width, jpeg.height, jpeg.orientation};
}

const char* to_string(ImageFormat format) {
  constexpr const char* kNames[] = {"JPEG", "PNG", "WebP", "BMP"};
  return kNames[static_cast<size_t>(format)];
}

// Format, size and orientation of an encoded image, read without decoding anything; any thread.
// PNG: W3C Portable Network Graphics (third edition); WebP: RFC 9649; BMP: BITMAPINFOHEADER and the
// older BITMAPCOREHEADER; JPEG: jpeg_header.h. Throws BadSample: empty, not_an_image, truncated,
// corrupt.
ImageHeader read_image_header(Bytes file) {
  const ImageHeader header = read_any(file);
  if (header.width > 0 && header.height > 0) return header;
  throw BadSample(BadReason::corrupt, std::string(to_string(header.format)) +
                                          " header: " + std::to_string(header.width) + "x" +
                                          std::to_string(header.height) + " pixels");
}

// OpenCV answers missing JPEG data with what its memory held before: such files must not get there.
void check_jpeg(Bytes file, const ImageLimits& limits) {
  const JpegHeader header = read_jpeg_header(file);
  check_decodable(header);
  const JpegScans scans = count_jpeg_scans(file, header);
  limits.check_scans(scans.count);
  if (scans.complete) return;
  throw BadSample(BadReason::truncated, "the file ends inside its JPEG data, after " +
                                            std::to_string(file.size()) + " bytes");
}

// Memory of images, black at first: what a decoder leaves out of a damaged image does not show
// another one.
class BlackMemory final : public cv::MatAllocator {
 public:
  // NOLINTNEXTLINE(readability-function-size): OpenCV's parameters
  cv::UMatData* allocate(int dimensions, const int* sizes, int type, void* data, size_t* step,
                         cv::AccessFlag flags, cv::UMatUsageFlags usage) const override {
    cv::UMatData* memory =
        cv::Mat::getStdAllocator()->allocate(dimensions, sizes, type, data, step, flags, usage);
    std::memset(memory->data, 0, memory->size);
    return memory;
  }
  bool allocate(cv::UMatData*, cv::AccessFlag, cv::UMatUsageFlags) const override { return false; }
  void deallocate(cv::UMatData* memory) const override {
    cv::Mat::getStdAllocator()->deallocate(memory);
  }
};

class OpenCvSession final : public DecoderSession {
 public:
  explicit OpenCvSession(const ImageOptions& options) : options_(options), transform_(options) {}

  void decode(Bytes encoded, const DecodeMode& mode, uint8_t* out) override {
    options_.limits.check_bytes(encoded.size());
    const ImageHeader header = read_image_header(encoded);
    const SamplePlan plan = transform_.plan(mode, header.width, header.height, header.orientation);
    if (header.format == ImageFormat::jpeg) check_jpeg(encoded, options_.limits);
    decode_bgr(encoded, header);
    if (transform_.is_copy(plan, header.width, header.height)) {
      to_rgb(out);
      return transform_.finish(plan, out);
    }
    uint8_t* rgb = rgb_.resize(bgr_.total() * 3 + PixelView::kSlack);
    to_rgb(rgb);
    ViewRows rows({rgb, header.width, header.height});
    transform_.apply(plan, rows, 1, out);
  }

 private:
  void decode_bgr(Bytes encoded, const ImageHeader& header) {
    const auto width = static_cast<int>(header.width), height = static_cast<int>(header.height);
    // If imdecode refuses a file's header, it leaves this as it is: without memory.
    bgr_ = cv::Mat();
    bgr_.allocator = &black_;
    // cv::Mat takes a mutable pointer; imdecode does not write.
    const cv::Mat bytes(1, static_cast<int>(encoded.size()), CV_8U,
                        const_cast<uint8_t*>(encoded.data()));
    try {
      cv::imdecode(bytes, cv::IMREAD_COLOR | cv::IMREAD_IGNORE_ORIENTATION, &bgr_);
    } catch (const cv::Exception&) {
      bgr_.release();
    }
    if (bgr_.cols == width && bgr_.rows == height && bgr_.type() == CV_8UC3) return;
    throw BadSample(BadReason::corrupt,
                    std::string("OpenCV cannot decode this ") + to_string(header.format) + " file");
  }

  // Not cv::cvtColor, which would use threads of its own.
  void to_rgb(uint8_t* out) const {
    for (int y = 0; y < bgr_.rows; ++y) {
      const uint8_t* in = bgr_.ptr(y);
      for (int x = 0; x < bgr_.cols; ++x, in += 3, out += 3) {
        out[0] = in[2];
        out[1] = in[1];
        out[2] = in[0];
      }
    }
  }

  const ImageOptions& options_;
  Transform transform_;
  BlackMemory black_;
  cv::Mat bgr_;  // after black_, whose memory it has
  Buffer rgb_;
};

struct OpenCvOptions : ImageOptions {
  DecoderInfo info() const {
    DecoderInfo result = ImageOptions::info();
    result.arrays = only_files;
    return result;
  }
};

// OpenCV's codecs: PNG, WebP, BMP and JPEG. A plug-in, because they bring 140 shared libraries.
using OpenCv = SessionDecoder<OpenCvOptions, OpenCvSession>;

STOKER_REGISTER(Decoder, "opencv", OpenCv);

}  // namespace
}  // namespace stoker
