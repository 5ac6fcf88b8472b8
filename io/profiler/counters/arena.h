#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
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

}  // namespace stoker
