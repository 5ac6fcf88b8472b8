#pragma once

#include <cstdint>

namespace stoker {

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
