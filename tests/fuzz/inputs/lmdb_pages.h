#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "io/core/system/memory.h"

namespace stoker {

// A database of few bytes: of each page of 4096, the first and the last ones, between which are
// zeros. An input is pages: u8 how many bytes at its begin, u8 at its end, these bytes.
inline std::string unfolded_lmdb(Bytes input) {
  constexpr size_t kPage = 4096;
  std::string file;
  while (input.size() >= 2 && file.size() < 64 * kPage) {
    const size_t head = input[0], tail = input[1];
    input = input.subspan(2);
    std::string page(kPage, '\0');
    const Bytes first = input.first(std::min(head, input.size()));
    input = input.subspan(first.size());
    const Bytes last = input.first(std::min(tail, input.size()));
    input = input.subspan(last.size());
    std::ranges::copy(first, page.begin());
    std::ranges::copy(last, page.end() - static_cast<std::ptrdiff_t>(last.size()));
    file += page;
  }
  file.append(input.begin(), input.end());
  return file;
}

}  // namespace stoker
