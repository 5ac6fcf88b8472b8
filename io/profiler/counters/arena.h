#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

namespace stoker {

// A bounded reserve of memory that is handed out and never taken back one by one: no lock, and no
// malloc() behind it, so that a recorded call in a signal handler or inside an allocator blocks
// nothing. Any thread. Address space is reserved at once, memory as it is used.
class Arena {
 public:
  // Throws Error(ExitCode::environment) where the address space is not to be had.
  explicit Arena(size_t bytes);
  // Over `memory`, which is somebody else's and outlives this object. Before the first `bytes` of
  // it are handed out, ready(memory, bytes) makes them usable; false: there is no more. Throws
  // nothing.
  using Ready = bool (*)(std::byte* memory, size_t bytes);
  Arena(std::byte* memory, size_t bytes, Ready ready);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // `bytes` zeroed bytes, valid as long as this object, in lines of the processor's cache that
  // nothing else has: what threads change does not slow others down. Null: not that many are left.
  void* allocate(size_t bytes);
  // A new T of the arena's, which nobody destroys; null: no memory is left.
  template <class T>
  T* make() {
    static_assert(alignof(T) <= kAlignment);
    static_assert(std::is_nothrow_default_constructible_v<T>);
    void* const memory = allocate(sizeof(T));
    return memory == nullptr ? nullptr : std::construct_at(static_cast<T*>(memory));
  }
  // How much allocate() could still give, as far as nobody else asks.
  size_t left() const { return bytes_ - used_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kAlignment = 64;
  const size_t bytes_;
  std::byte* const memory_;
  const Ready ready_ = nullptr;  // null: the memory is this object's own
  std::atomic<size_t> used_{0};
};

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
