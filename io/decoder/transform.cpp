#include "io/decoder/transform.h"

#include <cstring>
#include <utility>

#include "io/decoder/augment.h"

namespace stoker {
namespace {

struct Axes {
  bool transpose;
  bool flip_x;
  bool flip_y;
};

// The upright pixel (x, y) is the stored pixel that one gets by swapping the axes, then mirroring
// (CIPA DC-008, tag 0x0112).
constexpr Axes kOrientation[9] = {
    {},
    {false, false, false},
    {false, true, false},
    {false, true, true},
    {false, false, true},
    {true, false, false},
    {true, false, true},
    {true, true, true},
    {true, true, false},
};

// Swaps the axes of size x size RGB pixels.
void transpose_pixels(const uint8_t* in, int64_t size, uint8_t* out) {
  for (int64_t y = 0; y < size; ++y) {
    for (int64_t x = 0; x < size; ++x) {
      std::memcpy(out + (y * size + x) * 3, in + (x * size + y) * 3, 3);
    }
  }
}

}  // namespace

SamplePlan orient(SamplePlan plan, int orientation, int64_t width, int64_t height) {
  const Axes axes = kOrientation[orientation];
  Rect& crop = plan.crop;
  if (axes.transpose) {
    std::swap(crop.x, crop.y);
    std::swap(crop.width, crop.height);
  }
  if (axes.flip_x) crop.x = width - crop.x - crop.width;
  if (axes.flip_y) crop.y = height - crop.y - crop.height;
  const bool mirrored = plan.flip_x;
  plan.flip_x = axes.flip_x != (mirrored && !axes.transpose);
  plan.flip_y = axes.flip_y != (mirrored && axes.transpose);
  plan.transpose = axes.transpose;
  return plan;
}

Transform::Transform(const ImageOptions& options, Store store)
    : options_(options), store_(store), resizer_(options.resize) {}

SamplePlan Transform::plan(const DecodeMode& mode, int64_t width, int64_t height,
                           int orientation) const {
  options_.limits.check_size(width, height);
  const bool turned = kOrientation[orientation].transpose;
  return orient(plan_sample(options_, mode, turned ? height : width, turned ? width : height),
                orientation, width, height);
}

bool Transform::is_copy(const SamplePlan& plan, int64_t width, int64_t height) const {
  return options_.output == PixelType::uint8 && is_unchanged(plan, width, height);
}

bool Transform::is_unchanged(const SamplePlan& plan, int64_t width, int64_t height) const {
  const bool straight = !plan.flip_x && !plan.flip_y && !plan.transpose;
  return straight && width == options_.size && height == options_.size &&
         plan.crop == Rect{0, 0, width, height};
}

void Transform::apply(const SamplePlan& plan, PixelRows& image, int64_t reduction, uint8_t* out) {
  const double scale = 1.0 / static_cast<double>(reduction);
  const auto scaled = [&](int64_t pixels) { return static_cast<double>(pixels) * scale; };
  const Box crop{scaled(plan.crop.x), scaled(plan.crop.y), scaled(plan.crop.width),
                 scaled(plan.crop.height)};
  const int64_t size = options_.size;
  const Geometry geometry{crop, size, size, plan.flip_x, plan.flip_y};
  if (options_.output == PixelType::uint8) return apply_to_pixels(plan, image, geometry, out);
  auto* planes = reinterpret_cast<float*>(out);
  if (plan.transpose || plan.jitter) {
    uint8_t* pixels = pixels_.resize(static_cast<size_t>(size * size * 3));
    apply_to_pixels(plan, image, geometry, pixels);
    ViewRows rows({pixels, size, size});
    normalise_rows(rows, planes);
  } else if (is_unchanged(plan, image.width(), image.height())) {
    normalise_rows(image, planes);
  } else {
    resizer_.resize(image, geometry, planes);
  }
}

void Transform::apply_to_pixels(const SamplePlan& plan, PixelRows& image, const Geometry& geometry,
                                uint8_t* out) {
  const int64_t size = options_.size;
  if (is_unchanged(plan, image.width(), image.height())) {
    const size_t bytes = static_cast<size_t>(size) * 3;
    for (int64_t y = 0; y < size; ++y, out += bytes) std::memcpy(out, image.row(y), bytes);
    return finish(plan, out - static_cast<size_t>(size) * bytes);
  }
  uint8_t* resized = plan.transpose ? scratch_.resize(static_cast<size_t>(size * size * 3)) : out;
  const bool again = plan.transpose || plan.jitter;  // the pixels are touched
  resizer_.resize(image, geometry, resized, again ? Store::cached : store_);
  if (plan.transpose) transpose_pixels(resized, size, out);
  finish(plan, out);
}

void Transform::finish(const SamplePlan& plan, uint8_t* out) {
  if (plan.jitter) apply_jitter(*plan.jitter, options_.size, options_.size, out);
}

}  // namespace stoker
