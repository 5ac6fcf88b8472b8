#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/core/config/config.h"
#include "io/decoder/decoder.h"
#include "io/decoder/resample/resample.h"

// The options that all decoders share, so that a sweep changes nothing but decoder.type.

namespace stoker {

// decoder.limits: what an image may be. A value. The checks are made against the image's header,
// before any memory is allocated for its pixels, so that a file of some bytes cannot ask for
// gigabytes. An image beyond a limit is a bad sample, and dataset.on_error decides what becomes of
// the run.
struct ImageLimits {
  // width * height of the image as it is stored.
  int64_t max_pixels = 50'000'000;
  // Width or height.
  int64_t max_side = 16384;
  // Encoded.
  ByteSize max_bytes{64u << 20};
  // Scans of one progressive JPEG.
  int64_t max_scans = 100;
  template <class V>
  void visit(V& v) {
    v("max_pixels", max_pixels, "The most pixels that an image may have.", Limits{1, 1e9});
    v("max_side", max_side, "The most pixels that the width or the height of an image may have.",
      Limits{1, 65535});
    v("max_bytes", max_bytes, "The most encoded bytes that an image may have.");
    v("max_scans", max_scans, "The most scans that a progressive JPEG may have.",
      Limits{1, 100'000});
  }
  // Each throws BadSample(too_large), which names the limit, and else does nothing. Any thread.
  // Encoded bytes, as the storage gave them.
  void check_bytes(size_t bytes) const;
  // Pixels of the stored image, before any scaling by the codec.
  void check_size(int64_t width, int64_t height) const;
  // Scans of a JPEG: each one is a pass over the whole image, whatever its bytes.
  void check_scans(int64_t scans) const;
};

// decoder.augment.random_resized_crop: train on a random part of the image. A value; plan_sample()
// (augment.h) has the algorithm and draws the part. The two fields are intervals [low, high].
struct RandomResizedCrop {
  // The area of the crop, as a share of the image's.
  std::vector<double> scale{0.08, 1.0};
  // Width / height of the crop.
  std::vector<double> ratio{0.75, 4.0 / 3.0};
  template <class V>
  void visit(V& v) {
    v("scale", scale, "[low, high]: the area of the crop as a share of the image's area.");
    v("ratio", ratio, "[low, high]: width / height of the crop.");
  }
  // Error(ExitCode::config) unless 0 < low <= high, and high <= 1 for the scale.
  void check(const Section& section) const;
};

// decoder.augment.color_jitter: ranges of the random colour changes; 0: no change. A value.
struct ColorJitter {
  double brightness = 0;
  double contrast = 0;
  double saturation = 0;
  double hue = 0;
  template <class V>
  void visit(V& v) {
    v("brightness", brightness,
      "Each training image's brightness is multiplied by a random factor from max(0, 1 - x) to 1 + "
      "x.",
      Limits{0, 10});
    v("contrast", contrast,
      "Each training image's contrast is multiplied by a random factor from max(0, 1 - x) to 1 + "
      "x.",
      Limits{0, 10});
    v("saturation", saturation,
      "Each training image's saturation is multiplied by a random factor from max(0, 1 - x) to 1 + "
      "x.",
      Limits{0, 10});
    v("hue", hue,
      "Each training image's colours are turned on the colour circle by a random part of it, from "
      "-x to x.",
      Limits{0, 0.5});
  }
};

// decoder.augment: the random changes to training samples; test samples are not changed. A value.
// Each change is a function of the sample's seed alone, and does not alter what the others draw.
struct Augment {
  std::optional<RandomResizedCrop> random_resized_crop;
  bool flip = false;
  std::optional<ColorJitter> color_jitter;
  template <class V>
  void visit(V& v) {
    v("random_resized_crop", random_resized_crop,
      "Train on a random part of each image: {scale, ratio}. Without it, on the part that `fit` "
      "says.");
    v("flip", flip, "Mirror every second training image, at random.");
    v("color_jitter", color_jitter,
      "Change the colours of training images at random: {brightness, contrast, saturation, hue}.");
  }
  // Is a training sample another one in every epoch? Then its pixels cannot be kept.
  bool any() const { return random_resized_crop || flip || color_jitter; }
};

// The part of the image that is used where no random crop is taken: all of it, without regard to
// its shape, or the square in its middle whose side is crop_ratio times the shorter one.
enum class Fit { stretch, center_crop };
EnumNames<Fit> enum_names(Fit);
// How configurations name the values of resize and output.
EnumNames<ResizeMethod> enum_names(ResizeMethod);
EnumNames<PixelType> enum_names(PixelType);

// The options of every decoder. A value. A decoder with options of its own derives from it and
// calls this visit() from its own, so that all decoders have these under the same names.
struct ImageOptions {
  // Width and height of the sample, in pixels.
  int64_t size = 224;
  Fit fit = Fit::stretch;
  double crop_ratio = 0.875;
  // Filters: resample.h.
  ResizeMethod resize = ResizeMethod::bilinear;
  // float32: normalised by the decoder, in planes.
  PixelType output = PixelType::uint8;
  ImageLimits limits;
  // Only training samples are augmented.
  Augment augment;
  template <class V>
  void visit(V& v) {
    v("size", size, "Width and height of a decoded sample, in pixels.", Limits{1, 4096});
    v("fit", fit,
      "`stretch`: use the whole image, whatever its shape. `center_crop`: use the square in its "
      "middle.");
    v("crop_ratio", crop_ratio,
      "With `fit: center_crop`: the side of that square / the shorter side of the image.",
      Limits{0.01, 1});
    v("resize", resize,
      "`bilinear`: two pixels in each direction count, as in OpenCV. `antialias`: all pixels below "
      "the new one count, as in Pillow and torchvision.");
    v("output", output,
      "`uint8`: rows of interleaved RGB (HWC), normalised on the device. `float32`: planes (CHW), "
      "normalised with the mean and deviation of ImageNet.");
    v("limits", limits, "Larger images are bad samples, with the reason too_large.");
    v("augment", augment, "Random changes to training images.");
  }
  // Decoder::spec: size x size pixels of the type asked for.
  SampleSpec spec() const { return {size, size, 3, output}; }
  // Component<Decoder>::info.
  DecoderInfo info() const { return {augment.any(), false, output}; }
};

// ArrayVerdict of a decoder of image files.
std::string only_files(std::span<const StoredArray> arrays);

// A decoder that is nothing but its options and its sessions. SpecOptions has visit(), spec() and
// info(), as ImageOptions; a Session is a DecoderSession with a constructor that takes (const
// SpecOptions&) and may keep the reference, because a decoder outlives its sessions. To be
// registered under an alias:
//   using Raw = SessionDecoder<RawOptions, RawSession>;
//   STOKER_REGISTER(Decoder, "raw", Raw);
template <class SpecOptions, class Session>
class SessionDecoder final : public Decoder {
 public:
  using Options = SpecOptions;
  SessionDecoder(Options options, const Inputs&) : options_(std::move(options)) {}
  SampleSpec spec() const override { return options_.spec(); }
  std::unique_ptr<DecoderSession> open() const override {
    return std::make_unique<Session>(options_);
  }

 private:
  const Options options_;
};

}  // namespace stoker
