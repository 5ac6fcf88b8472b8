#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace stoker {

// "1 worker", "4 workers"; "2 processes", "3 batches", "2 copies". The noun is one of them, in
// English, whose plural is regular; of several words ("test sample") the last changes. Any thread.
std::string plural_of(std::string_view noun);
std::string plural(std::integral auto count, std::string_view noun) {
  return std::to_string(count) + " " + (count == 1 ? std::string(noun) : plural_of(noun));
}

}  // namespace stoker
