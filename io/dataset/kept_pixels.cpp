#include "io/dataset/kept_pixels.h"

#include <cstring>
#include <optional>
#include <utility>

#include "io/core/system/memory.h"

namespace stoker {
namespace {

constexpr size_t kMaxMapped = 30'000;
constexpr size_t kAlignment = 64;

}  // namespace

KeptPixels::KeptPixels(size_t samples, size_t sample_bytes, const Storage* tier, bool map)
    : sample_bytes_(sample_bytes),
      step_((sample_bytes + kAlignment - 1) / kAlignment * kAlignment),
      tier_(tier),
      places_(samples),
      map_(map) {}

void KeptPixels::reserve(uint64_t copies) { copies_ = allocate_huge(copies * step_, false); }

Bytes KeptPixels::keep(size_t number, Bytes pixels) {
  const uint64_t copy = copied_++;
  if ((copy + 1) * step_ > copies_.bytes) return {};
  uint8_t* const place = copies_.data.get() + copy * step_;
  std::memcpy(place, pixels.data(), sample_bytes_);
  places_[number].store(place, std::memory_order_release);
  return {place, sample_bytes_};
}

Bytes KeptPixels::read(const std::string& key, uint64_t offset, Buffer& scratch) {
  if (const Bytes there = mapped(key, offset); !there.empty()) return there;
  tier_->read(key, scratch, {offset, sample_bytes_});
  return scratch.bytes();
}

void KeptPixels::publish(size_t number, Bytes pixels, const Buffer& scratch) {
  if (pixels.data() == scratch.data()) return;
  places_[number].store(pixels.data(), std::memory_order_release);
}

// Empty: it is to be read.
Bytes KeptPixels::mapped(const std::string& key, uint64_t offset) {
  std::unique_lock lock(mutex_);
  auto file = files_.find(key);
  if (file == files_.end()) {
    if (!map_ || files_.size() >= kMaxMapped) return {};
    lock.unlock();
    std::optional<MappedFile> opened = map_object(*tier_, key);
    lock.lock();
    if (!opened) {
      map_ = false;
      return {};
    }
    file = files_.try_emplace(key, std::move(*opened)).first;
  }
  lock.unlock();  // entries stay where they are
  const MappedFile& mapping = file->second;
  if (offset + sample_bytes_ > mapping.bytes().size() || !mapping.fetch(offset, sample_bytes_)) {
    return {};
  }
  return mapping.bytes().subspan(offset, sample_bytes_);
}

}  // namespace stoker
