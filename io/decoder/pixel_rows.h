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

}  // namespace stoker
