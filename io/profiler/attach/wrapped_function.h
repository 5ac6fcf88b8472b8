#pragma once

#include <atomic>
#include <span>

namespace stoker {

// One wrapper of a function, and what it calls in its place. Never destroyed: who has taken the
// wrapper's address may go on calling it.
struct WrapperInstance {
  void* wrapper = nullptr;
  // What stood in the slots; null: the instance is free. Set once, before a slot gets `wrapper`.
  std::atomic<void*> original{nullptr};
  // What the wrapper calls: the original, or what a library has in its place, which calls it.
  std::atomic<void*> callee{nullptr};
};

// A function whose calls are seen, by its name in symbol tables ("pread64"). There is an instance
// for each original that a process may have: libc's, a preloaded library's, a sanitizer's. Refers.
struct WrappedFunction {
  const char* name;
  std::span<WrapperInstance> instances;
  // Where libc does not define it: how the file name of the library that does begins
  // ("liburing.so").
  const char* library = nullptr;
};

}  // namespace stoker
