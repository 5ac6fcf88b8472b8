#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "io/profiler/counters/arena.h"

namespace stoker {

// Which sizes (strides) a file's calls had, and how often, by Darshan's rule: the first 32
// different values are counted, and zero is one of them but never among the commonest. One thread
// at a time.
class CommonValues {
 public:
  static constexpr size_t kTracked = 32;
  static constexpr size_t kShown = 4;

  // `arena` outlives this object. Where it has no memory left, a fifth value is not counted.
  void count(int64_t value, Arena& arena);
  // Writes the commonest of them, as Darshan's counters have them: first kShown values, then their
  // counts; the most frequent first, of equals the larger; zeros where there are fewer.
  void write(std::span<int64_t, 2 * kShown> counters) const;
  // A copy for where the arena's memory lies elsewhere: here(pointer, count) says where; null: it
  // is not there, and what lies in it is left out.
  template <class Here>
  CommonValues seen_from(const Here& here) const {
    CommonValues copy = *this;
    copy.more_ = const_cast<Value*>(here(static_cast<const Value*>(more_), kMore));
    const auto most = static_cast<uint32_t>(copy.more_ == nullptr ? kInline : kTracked);
    if (copy.values_ > most) copy.values_ = most;
    return copy;
  }

 private:
  struct Value {
    int64_t value, count;
  };
  static constexpr size_t kInline = 4;  // what most files have
  static constexpr size_t kMore = kTracked - kInline;

  Value* find(int64_t value);
  Value* add(int64_t value, Arena& arena);
  Value& at(size_t i) { return i < kInline ? first_[i] : more_[i - kInline]; }
  const Value& at(size_t i) const { return i < kInline ? first_[i] : more_[i - kInline]; }

  std::array<Value, kInline> first_{};
  Value* more_ = nullptr;  // kMore of them, in the arena
  uint32_t values_ = 0;    // used of both
};

}  // namespace stoker
