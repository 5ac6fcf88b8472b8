#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/core/error.h"

// The machine that a pickle is a program for, and the values that it makes. They lie in one place
// and name each other by number, so that a value in itself, or one that is nested a million times,
// can be made, and does no harm.

namespace stoker {

// The most values, and the most items of all of them.
inline constexpr uint64_t kMaxPickleValues = 5'000'000;

// One of them. `items`: of a tuple or a list; of a dictionary keys and values in turns; of a
// storage (its dtype, its key, its number of elements) and a tensor (its storage, offset, shape,
// strides) what it was made of. A value.
struct PickleValue {
  enum class Kind { none, integer, text, other, global, tuple, list, dictionary, storage, tensor };
  using Ref = size_t;  // a value's number
  Kind kind = Kind::none;
  int64_t integer = 0;
  std::string text = {};
  std::vector<Ref> items = {};
};

// What a pickle leaves. A value.
struct Unpickled {
  std::deque<PickleValue> values;
  PickleValue::Ref root = 0;
};

// Runs the part of the format that a state dict of tensors needs; nothing is imported or called.
// Error(ExitCode::storage) for all else, by its name. A pure function; any thread.
Unpickled unpickle(std::string_view bytes);

template <class... A>
[[noreturn]] void refuse_pickle(fmt::format_string<A...> what, A&&... values) {
  throw Error(ExitCode::storage, fmt::format(what, std::forward<A>(values)...));
}

}  // namespace stoker
