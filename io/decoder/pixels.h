#pragma once

#include <cstddef>
#include <cstdint>

namespace stoker {

// Rows of interleaved 8-bit RGB that somebody else owns. kSlack bytes behind the last pixel must be
// readable (any value): the vector code loads more than it uses. A value.
struct PixelView {
  static constexpr size_t kSlack = 16;
  // Pixel (0, 0), at the top left.
  const uint8_t* data = nullptr;
  int64_t width = 0;
  int64_t height = 0;
  // From a row to the next, in bytes.
  size_t stride = static_cast<size_t>(width) * 3;
};

// An image of RGB pixels whose rows may be made only when they are asked for, so that it need not
// lie in memory as a whole. One thread at a time; belongs to whoever made it, and refers to what it
// was made of.
class PixelRows {
 public:
  // The size of the whole image, whichever of its rows can be made.
  PixelRows(int64_t width, int64_t height) : width_(width), height_(height) {}
  virtual ~PixelRows() = default;
  int64_t width() const { return width_; }
  int64_t height() const { return height_; }
  // Pixel 0 of row `y`, laid out as a row of PixelView, valid until the next call. Ask in ascending
  // order. Columns that the caller does not use (the resizer: those outside of the crop) may hold
  // anything, and need not be memory but for the slack behind those that are used.
  virtual const uint8_t* row(int64_t y) = 0;

 private:
  int64_t width_;
  int64_t height_;
};

// The rows of an image that does lie in memory, which must outlive this. The memory may hold less
// than the view: only rows and columns that are asked for are touched.
class ViewRows final : public PixelRows {
 public:
  explicit ViewRows(const PixelView& view) : PixelRows(view.width, view.height), view_(view) {}
  const uint8_t* row(int64_t y) override {
    return view_.data + y * static_cast<int64_t>(view_.stride);
  }

 private:
  PixelView view_;
};

// ImageNet's mean and deviation of R, G and B in levels of 0 to 255, which torchvision's weights
// expect: value = (level - mean) * scale, each operation rounded to float. That is what LibTorch
// computes from uint8 batches, so that both ways to normalise give the same bits.
constexpr double kMean[3] = {123.675, 116.28, 103.53};
constexpr double kScale[3] = {1 / 58.395, 1 / 57.12, 1 / 57.375};

// For single values; normalise_pixels() does whole images to the same bits.
// One channel is not a photograph but bytes of any kind, which become -1 to 1.
constexpr double kGreyMean[1] = {127.5};
constexpr double kGreyScale[1] = {1 / 127.5};

// The means of samples with `channels` channels, 1 or 3: one value for each.
inline const double* means(int64_t channels) { return channels == 1 ? kGreyMean : kMean; }
inline const double* scales(int64_t channels) { return channels == 1 ? kGreyScale : kScale; }

// The value of a level in channel 0 (R), 1 (G) or 2 (B). Two rounded operations; never let a
// compiler fuse them.
inline float normalised(uint8_t level, int channel) {
  return (static_cast<float>(level) - static_cast<float>(kMean[channel])) *
         static_cast<float>(kScale[channel]);
}

}  // namespace stoker
