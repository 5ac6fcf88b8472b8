#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
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

// All functions whose calls the profiler sees; README.md lists them. For Attachment::attach(). Any
// thread; it lives for ever.
std::span<const WrappedFunction> wrapped_functions();

// The switch: whether calls of wrapped functions reach the recorder, which is started before. On:
// names the files that are open, from /proc/self/fd. The slots stay as they are. Off at the begin,
// and in the child of a fork. One thread at a time.
void count_calls(bool on);

// A list of functions, without memory of its own, for the preloaded library has none to ask for. A
// value.
class WrappedFunctions {
 public:
  void push_back(const WrappedFunction& function) {
    if (count_ < functions_.size()) functions_[count_++] = function;
  }
  std::span<const WrappedFunction> all() const { return {functions_.data(), count_}; }

 private:
  std::array<WrappedFunction, 320> functions_{};  // wrapped_functions_test.cpp counts them
  size_t count_ = 0;
};

// What `name` means to a wrapper that calls it: the function of libc's, or of a preload's or a
// sanitizer's in front of it, and none of our own. Null: there is none.
void* function_below(const char* name);

// The functions by their subject, each in the file of that name.
void add_descriptor_calls(WrappedFunctions& functions);
void add_transfer_calls(WrappedFunctions& functions);
void add_file_calls(WrappedFunctions& functions);
void add_stream_calls(WrappedFunctions& functions);
void add_stream_transfer_calls(WrappedFunctions& functions);
void add_formatted_calls(WrappedFunctions& functions);
void add_uring_calls(WrappedFunctions& functions);
void add_aio_calls(WrappedFunctions& functions);

// What lies at an address that somebody told as a number: the loader, an object, the kernel.
template <class T>
T* at_address(uint64_t address) {
  return reinterpret_cast<T*>(address);  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace stoker
