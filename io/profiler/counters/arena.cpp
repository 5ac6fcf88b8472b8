#include "io/profiler/counters/arena.h"

#include <sys/mman.h>

#include <algorithm>

namespace stoker {

Arena::Arena(std::byte* memory, size_t bytes, Ready ready)
    : bytes_(bytes), memory_(memory), ready_(ready) {}

Arena::~Arena() {
  if (memory_ != nullptr && ready_ == nullptr) ::munmap(memory_, bytes_);
}

void* Arena::allocate(size_t bytes) {
  size_t used = used_.load(std::memory_order_relaxed);
  size_t next = 0;
  do {
    if (bytes > bytes_ - used) return nullptr;
    next = (used + bytes + kAlignment - 1) / kAlignment * kAlignment;
    if (next > bytes_) next = bytes_;
    if (ready_ != nullptr && !ready_(memory_, next)) return nullptr;
  } while (!used_.compare_exchange_weak(used, next, std::memory_order_relaxed));
  return memory_ + used;
}

CommonValues::Value* CommonValues::find(int64_t value) {
  for (size_t i = 0; i < values_; ++i) {
    if (at(i).value == value) return &at(i);
  }
  return nullptr;
}

CommonValues::Value* CommonValues::add(int64_t value, Arena& arena) {
  if (values_ == kTracked) return nullptr;
  if (values_ >= kInline && more_ == nullptr) {
    more_ = static_cast<Value*>(arena.allocate(kMore * sizeof(Value)));
    if (more_ == nullptr) return nullptr;
  }
  Value& added = at(values_++);
  added = {value, 0};
  return &added;
}

void CommonValues::count(int64_t value, Arena& arena) {
  Value* counted = find(value);
  if (counted == nullptr) counted = add(value, arena);
  if (counted != nullptr) ++counted->count;
}

void CommonValues::write(std::span<int64_t, 2 * kShown> counters) const {
  std::fill(counters.begin(), counters.end(), 0);
  size_t shown = 0;
  for (size_t i = 0; i < values_; ++i) {
    const int64_t value = at(i).value;
    const int64_t count = at(i).count;
    if (value == 0) continue;
    size_t place = shown;
    while (place > 0 && (counters[kShown + place - 1] < count ||
                         (counters[kShown + place - 1] == count && counters[place - 1] < value))) {
      --place;
    }
    if (place == kShown) continue;
    for (size_t to = std::min(shown, kShown - 1); to > place; --to) {
      counters[to] = counters[to - 1];
      counters[kShown + to] = counters[kShown + to - 1];
    }
    counters[place] = value;
    counters[kShown + place] = count;
    shown = std::min(shown + 1, kShown);
  }
}

}  // namespace stoker
