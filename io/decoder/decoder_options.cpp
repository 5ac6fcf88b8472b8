#include "io/decoder/decoder_options.h"

#include <limits>
#include <string>

#include "io/core/error.h"

namespace stoker {
namespace {

[[noreturn]] void too_large(const std::string& what, const std::string& limit) {
  throw BadSample(BadReason::too_large, what + ": over decoder.limits." + limit);
}

void check_interval(const Section& section, const char* key, const std::vector<double>& interval,
                    double max) {
  if (interval.size() == 2 && 0 < interval[0] && interval[0] <= interval[1] && interval[1] <= max) {
    return;
  }
  section.fail(key,
               std::string("must be [low, high] with 0 < low <= high") + (max == 1 ? " <= 1" : ""));
}

}  // namespace

template <>
Registry<Decoder>& Registry<Decoder>::global() {
  static Registry registry;
  return registry;
}

EnumNames<Fit> enum_names(Fit) {
  return {{"stretch", Fit::stretch}, {"center_crop", Fit::center_crop}};
}

EnumNames<ResizeMethod> enum_names(ResizeMethod) {
  return {{"bilinear", ResizeMethod::bilinear}, {"antialias", ResizeMethod::antialias}};
}

EnumNames<PixelType> enum_names(PixelType) {
  return {{"uint8", PixelType::uint8}, {"float32", PixelType::float32}};
}

std::string only_files(std::span<const StoredArray> arrays) {
  const bool pixels = arrays.size() == 1 && arrays[0].type == "uint8";
  return std::string("decodes files: set decoder.type=") +
         (pixels ? "raw, which takes pixels" : "planes, which takes float32");
}

void ImageLimits::check_bytes(size_t bytes) const {
  if (bytes <= max_bytes.bytes) return;
  too_large(std::to_string(bytes) + " bytes", "max_bytes = " + Scalar<ByteSize>::format(max_bytes));
}

void ImageLimits::check_size(int64_t width, int64_t height) const {
  const std::string what = std::to_string(width) + "x" + std::to_string(height) + " pixels";
  if (width > max_side || height > max_side) {
    too_large(what, "max_side = " + std::to_string(max_side));
  }
  if (width * height > max_pixels) too_large(what, "max_pixels = " + std::to_string(max_pixels));
}

void ImageLimits::check_scans(int64_t scans) const {
  if (scans <= max_scans) return;
  too_large(std::to_string(scans) + " scans", "max_scans = " + std::to_string(max_scans));
}

void RandomResizedCrop::check(const Section& section) const {
  check_interval(section, "scale", scale, 1);
  check_interval(section, "ratio", ratio, std::numeric_limits<double>::infinity());
}

}  // namespace stoker
