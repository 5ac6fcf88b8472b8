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

// The instructions of Python's pickle format that a state dict of tensors is made of (pickletools
// has all of them, with what each does).
enum class Pickle : uint8_t {
  proto = 0x80,
  stop = '.',
  mark = '(',
  global = 'c',
  reduce = 'R',
  build = 'b',
  persistent = 'Q',
  none = 'N',
  new_true = 0x88,
  new_false = 0x89,
  int4 = 'J',
  int1 = 'K',
  int2 = 'M',
  long1 = 0x8a,
  floating = 'G',
  unicode = 'X',
  short_string = 'U',
  empty_tuple = ')',
  tuple = 't',
  tuple1 = 0x85,
  tuple2 = 0x86,
  tuple3 = 0x87,
  empty_list = ']',
  append = 'a',
  appends = 'e',
  empty_dictionary = '}',
  set_item = 's',
  set_items = 'u',
  put = 'q',
  long_put = 'r',
  get = 'h',
  long_get = 'j'
};

}  // namespace stoker
