#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "io/decoder/decoder_options.h"
#include "io/decoder/framing.h"
#include "io/decoder/jpeg_codec.h"
#include "io/decoder/jpeg_header.h"
#include "io/decoder/transform.h"

// What the decoders `turbojpeg` and `jpeg` share: from the bytes of a JPEG file to a sample.

namespace stoker {

// Options of both. A value.
struct JpegOptions : FramedOptions {
  bool scaled_decode = true;
  Tolerance tolerance = Tolerance::strict;
  template <class V>
  void visit(V& v) {
    FramedOptions::visit(v);
    v("scaled_decode", scaled_decode,
      "Decode at 1/2, 1/4 or 1/8 of the size where that is still at least as large as the sample. "
      "It is faster and gives other pixels.");
    v("tolerance", tolerance,
      "What becomes of images that libjpeg-turbo warns about. `strict`: they are bad samples. "
      "`as_libjpeg`: they are used as libjpeg-turbo decodes them, and tolerated.csv lists them.");
  }
  void check(const Section& section) const;
};

// The same, which say by whom files are decoded.
template <JpegBy by>
struct DecodedBy : JpegOptions {
  DecoderInfo info() const {
    DecoderInfo result = JpegOptions::info();
    result.jpeg = by;
    result.arrays = only_files;
    return result;
  }
};

// Another way to the pixels than libjpeg-turbo's, for the files that it vouches for. One thread at
// a time.
class FastJpeg {
 public:
  virtual ~FastJpeg() = default;
  // The image at 1/reduction. The part that `needed` names is there, and valid until the next call.
  // Null: libjpeg-turbo has to judge this file. Throws nothing but std::bad_alloc.
  virtual PixelRows* decode(Bytes encoded, const JpegHeader& header,
                            std::span<const JpegSegment> segments, const Rect& needed,
                            int64_t reduction) = 0;
};

// One file after the other, by `fast` where it vouches for the file, else by libjpeg-turbo, which
// alone bears with damage. One thread at a time; failures as DecoderSession. `options` must outlive
// it.
class JpegSession : public DecoderSession {
 public:
  // fast: null: libjpeg-turbo decodes all files.
  JpegSession(const JpegOptions& options, std::unique_ptr<FastJpeg> fast);

  void decode(Bytes encoded, const DecodeMode& mode, uint8_t* out) override;

 private:
  int64_t reduction(const SamplePlan& plan) const;
  void frame(Bytes encoded, const JpegHeader& header, const SamplePlan& plan, uint8_t* out);
  void sample(Bytes encoded, const JpegHeader& header, const SamplePlan& plan, uint8_t* out);
  template <class Use>
  void with_rows(Bytes encoded, const JpegHeader& header, const SamplePlan& plan, const Use& use);
  void by_libjpeg(Bytes encoded, const JpegHeader& header, int64_t width, int64_t height,
                  uint8_t* rgb);

  const JpegOptions& options_;
  Transform transform_;
  const Framing framing_;
  const std::unique_ptr<FastJpeg> fast_;
  JpegCodec codec_;
  std::vector<JpegSegment> segments_;
  Buffer rgb_;
};

}  // namespace stoker
