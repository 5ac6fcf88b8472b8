#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "io/core/memory.h"
#include "io/dataset/pixel_store.h"

namespace stoker {
namespace {

constexpr size_t kChunk = size_t{64} << 20;
constexpr size_t kAlignment = 64;

class PixelSlab final : public PixelStore {
 public:
  PixelSlab(size_t sample_bytes, uint64_t limit, Notify remark)
      : sample_bytes_(sample_bytes),
        step_((sample_bytes + kAlignment - 1) / kAlignment * kAlignment),
        left_(limit / sample_bytes),
        remark_(std::move(remark)) {}

  KeptPixels find(const std::string&, Buffer&) override { return {}; }

  KeptPixels keep(const std::string&, Bytes pixels) override {
    uint8_t* const place = take();
    if (place == nullptr) return {};
    std::memcpy(place, pixels.data(), sample_bytes_);
    return {{place, sample_bytes_}, true};
  }

 private:
  // Null: there is no room.
  uint8_t* take() {
    const std::lock_guard lock(mutex_);
    if (left_ == 0) return nullptr;
    if (free_ == 0 && !grow()) return nullptr;
    uint8_t* const place = next_;
    next_ += step_;
    --free_;
    --left_;
    return place;
  }

  bool grow() {
    const uint64_t samples = std::min<uint64_t>(left_, std::max<size_t>(1, kChunk / step_));
    try {
      chunks_.push_back(allocate_huge(samples * step_, false));
    } catch (const std::bad_alloc&) {
      left_ = 0;
      remark_("no more pixels are kept: the system gives no more memory");
      return false;
    }
    next_ = chunks_.back().data.get();
    free_ = samples;
    return true;
  }

  const size_t sample_bytes_;
  const size_t step_;
  std::mutex mutex_;
  uint64_t left_;      // samples until the limit
  uint64_t free_ = 0;  // samples until the chunk is full
  uint8_t* next_ = nullptr;
  std::vector<HostMemory> chunks_;
  const Notify remark_;
};

}  // namespace

std::unique_ptr<PixelStore> make_pixel_slab(size_t sample_bytes, uint64_t limit, Notify remark) {
  return std::make_unique<PixelSlab>(sample_bytes, limit, std::move(remark));
}

}  // namespace stoker
