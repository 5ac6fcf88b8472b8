#include <cstring>
#include <iostream>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/imgcodecs.hpp>
#include <optional>
#include <streambuf>
#include <string>

#include "io/core/error.h"
#include "io/decoder/decoder_options.h"
#include "io/decoder/exif.h"
#include "io/decoder/image_header.h"
#include "io/decoder/jpeg_codec.h"
#include "io/decoder/opencv/png.h"
#include "io/decoder/transform.h"

namespace stoker {
namespace {

// Is this thread in one of OpenCV's codecs?
thread_local bool in_codec = false;

// Up to 4.6, OpenCV writes to std::cerr what it thinks of a file, without its name and once in each
// epoch; from then on to its log. Here it is a bad sample, which has a name. So what a thread says
// to std::cerr while it is in a codec is left out, and all else goes on as before. std::cerr knows
// of this as long as the plug-in is loaded.
class QuietCodecs final : public std::streambuf {
 public:
  QuietCodecs() : to_(std::cerr.rdbuf(this)) {
    cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
  }
  ~QuietCodecs() override { std::cerr.rdbuf(to_); }

 protected:
  int_type overflow(int_type c) override {
    if (in_codec || traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    return to_->sputc(traits_type::to_char_type(c));
  }
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    return in_codec ? size : to_->sputn(text, size);
  }
  int sync() override { return in_codec ? 0 : to_->pubsync(); }

 private:
  std::streambuf* const to_;
};
const QuietCodecs quiet;

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

// OpenCV turns TIFF images upright by itself, whatever it is told; here the plan does that, as for
// all formats. And libtiff multiplies colours by an alpha that says that they are not, so that they
// would be darker than those of the same picture in any other format; what has been multiplied
// already it leaves as it is. So OpenCV gets a copy without a valid orientation, whose alpha says
// that.
Bytes as_stored(Bytes tiff, Buffer& copy) {
  constexpr uint16_t kTagExtraSamples = 338;
  constexpr uint8_t kAssociated = 1;
  const TiffDirectory directory(tiff);
  const std::optional<size_t> orientation = directory.find(kTagOrientation);
  const std::optional<size_t> extra = directory.find(kTagExtraSamples);
  if (!orientation && !extra) return tiff;
  uint8_t* const bytes = copy.resize(tiff.size());
  std::memcpy(bytes, tiff.data(), tiff.size());
  if (orientation) std::memset(bytes + *orientation + 8, 0, 4);
  // One number of 16 bits lies in the entry itself: with the file's order of bytes, in its first
  // two.
  if (extra && directory.count(*extra) == 1) {
    bytes[*extra + 8] = tiff[0] == 'M' ? 0 : kAssociated;
    bytes[*extra + 9] = tiff[0] == 'M' ? kAssociated : 0;
  }
  return copy.bytes();
}

class OpenCvSession final : public DecoderSession {
 public:
  explicit OpenCvSession(const ImageOptions& options) : options_(options), transform_(options) {}

  void decode(Bytes encoded, const DecodeMode& mode, uint8_t* out) override {
    options_.limits.check_bytes(encoded.size());
    const ImageHeader header = read_image_header(encoded);
    const SamplePlan plan = transform_.plan(mode, header.width, header.height, header.orientation);
    if (transform_.is_copy(plan, header.width, header.height)) {
      decode_rgb(encoded, header, out);
      return transform_.finish(plan, out);
    }
    const auto bytes = static_cast<size_t>(header.width * header.height * 3);
    uint8_t* rgb = rgb_.resize(bytes + PixelView::kSlack);
    decode_rgb(encoded, header, rgb);
    ViewRows rows({rgb, header.width, header.height});
    transform_.apply(plan, rows, 1, out);
  }

 private:
  // JPEG and PNG go to the libraries that OpenCV leaves them to, because it does not report damage
  // that these find, and they print it.
  void decode_rgb(Bytes encoded, const ImageHeader& header, uint8_t* rgb) {
    switch (header.format) {
      case ImageFormat::jpeg:
        return decode_jpeg(encoded, header, rgb);
      case ImageFormat::png:
        return decode_png(encoded, header, rgb);
      case ImageFormat::tiff:
        encoded = as_stored(encoded, copy_);
        break;
      default:
        break;
    }
    decode_bgr(encoded, header);
    to_rgb(rgb);
  }

  void decode_jpeg(Bytes encoded, const ImageHeader& image, uint8_t* rgb) {
    const JpegHeader header = read_jpeg_header(encoded);
    check_decodable(header);
    if (!header.one_scan) options_.limits.check_scans(count_jpeg_scans(encoded, header).count);
    jpeg_.decode(encoded, header, image.width, image.height, rgb);
  }

  void decode_bgr(Bytes encoded, const ImageHeader& header) {
    const auto width = static_cast<int>(header.width), height = static_cast<int>(header.height);
    // If imdecode refuses a file's header, it leaves this as it is: without memory.
    bgr_ = cv::Mat();
    bgr_.allocator = &black_;
    // cv::Mat takes a mutable pointer; imdecode does not write.
    const cv::Mat bytes(1, static_cast<int>(encoded.size()), CV_8U,
                        const_cast<uint8_t*>(encoded.data()));
    in_codec = true;
    try {
      cv::imdecode(bytes, cv::IMREAD_COLOR | cv::IMREAD_IGNORE_ORIENTATION, &bgr_);
    } catch (const cv::Exception&) {
      bgr_.release();
    }
    in_codec = false;
    if (bgr_.cols == width && bgr_.rows == height && bgr_.type() == CV_8UC3) return;
    throw BadSample(
        BadReason::corrupt,
        std::string("OpenCV cannot decode this file, whose kind is ") + to_string(header.format));
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
  JpegCodec jpeg_;
  BlackMemory black_;
  cv::Mat bgr_;  // after black_, whose memory it has
  Buffer rgb_;
  Buffer copy_;
};

struct OpenCvOptions : ImageOptions {
  DecoderInfo info() const {
    DecoderInfo result = ImageOptions::info();
    result.arrays = only_files;
    return result;
  }
};

// Images of all formats that read_image_header() knows. A plug-in, because OpenCV's codecs bring
// 140 shared libraries.
using OpenCv = SessionDecoder<OpenCvOptions, OpenCvSession>;

STOKER_REGISTER(Decoder, "opencv", OpenCv);

}  // namespace
}  // namespace stoker
