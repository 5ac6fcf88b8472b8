#include <opencv2/imgcodecs.hpp>

#include "io/core/error.h"
#include "io/decoder/image_header.h"
#include "io/decoder/jpeg_header.h"
#include "io/decoder/options.h"
#include "io/decoder/transform.h"

namespace stoker {
namespace {

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
    // What a decoder leaves out of a damaged image is black, never a part of the last one.
    bgr_.create(height, width, CV_8UC3);
    bgr_.setTo(0);
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
  cv::Mat bgr_;
  Buffer rgb_;
};

// OpenCV's codecs: PNG, WebP, BMP and JPEG. A plug-in, because they bring 140 shared libraries.
using OpenCv = SessionDecoder<ImageOptions, OpenCvSession>;

STOKER_REGISTER(Decoder, "opencv", OpenCv);

}  // namespace
}  // namespace stoker
