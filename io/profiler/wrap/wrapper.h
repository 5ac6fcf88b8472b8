#pragma once

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "io/profiler/wrap/counting.h"
#include "io/profiler/wrap/wrapped_functions.h"

namespace stoker {

// A function's name as an argument of a template.
template <size_t N>
struct FunctionName {
  // NOLINTNEXTLINE(google-explicit-constructor): it is written as a literal.
  constexpr FunctionName(const char (&literal)[N]) {
    for (size_t i = 0; i < N; ++i) text[i] = literal[i];
  }
  char text[N]{};
};

// libc's, a preload's, a sanitizer's, and one more.
inline constexpr size_t kOriginals = 4;

// What the wrapper calls in its turn. The slot was read before, without an order that the language
// knows: on a machine that shows the instance later, the loop waits for it.
template <class Function>
Function original_of(const WrapperInstance& instance) {
  void* original = instance.callee.load(std::memory_order_acquire);
  while (original == nullptr) [[unlikely]] {
      original = instance.callee.load(std::memory_order_acquire);
    }
  return reinterpret_cast<Function>(original);
}

// The wrappers of one function by its name in symbol tables. A Rule says what its calls mean:
//
//   static void tell(Result, CallTime, Arguments...);   // after each call, errno is the call's
//   static T before(Arguments...);                      // may be there: then tell() gets the T
//   last using Original = int (*)(const char*, int, ...);    // where the function's own type is
//   variadic
//
// Arguments that a variadic function may have are passed on always: in registers, as the caller
// left them. Not noexcept: a thread that is cancelled in the call unwinds through the wrapper, and
// a call that does not return is not told.
template <FunctionName kName, class Rule, class Signature>
class Wrapper;

template <FunctionName kName, class Rule, class Result, class... Arguments>
class Wrapper<kName, Rule, Result(Arguments...)> {
 public:
  static WrappedFunction function(const char* library = nullptr) {
    set_wrappers(std::make_index_sequence<kOriginals>());
    return {kName.text, instances_, library};
  }

 private:
  template <class R>
  struct OriginalOf {
    using type = Result (*)(Arguments...);
  };
  template <class R>
  requires requires { typename R::Original; }
  struct OriginalOf<R> {
    using type = typename R::Original;
  };

  template <size_t... I>
  static void set_wrappers(std::index_sequence<I...>) {
    ((instances_[I].wrapper = reinterpret_cast<void*>(&call<I>)), ...);
  }

  template <size_t I>
  static Result call(Arguments... arguments) {
    const auto original = original_of<typename OriginalOf<Rule>::type>(instances_[I]);
    if (!counts_here()) return original(arguments...);
    if constexpr (requires { Rule::before(arguments...); }) {
      const auto known = Rule::before(arguments...);
      return timed(original, arguments..., known);
    } else {
      return timed(original, arguments...);
    }
  }

  template <class Original, class... Known>
  static Result timed(Original original, Arguments... arguments, Known... known) {
    CallTime time{call_clock_ns(), 0};
    if constexpr (std::is_void_v<Result>) {
      original(arguments...);
      time.end_ns = call_clock_ns();
      const int error = errno;
      Rule::tell(time, arguments..., known...);
      errno = error;
    } else {
      const Result result = original(arguments...);
      time.end_ns = call_clock_ns();
      const int error = errno;
      Rule::tell(result, time, arguments..., known...);
      errno = error;
      return result;
    }
  }

  static constinit inline std::array<WrapperInstance, kOriginals> instances_{};
};

}  // namespace stoker
