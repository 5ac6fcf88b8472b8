#pragma once

#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stoker {

// Under which name and number Darshan keeps a file. Pure; any thread.

// Jenkins' lookup8 of the name, with seed 0.
uint64_t record_id(std::string_view name);

// A name in a buffer of its own, so that making it allocates nothing. A value. One thread at a
// time.
class RecordName {
 public:
  // `path` as a caller gave it; where it is relative, it lies in `directory` (an absolute path).
  // "//" and "/./" are cut; ".." and links stay, so that one file may have several names. Reserved
  // names ("<STDIN>") stay as they are. False: longer than any path may be.
  bool set(std::string_view directory, std::string_view path);
  // The name of the last set() that returned true.
  std::string_view text() const { return {text_.data(), length_}; }

 private:
  bool append(std::string_view piece);
  std::array<char, PATH_MAX> text_;
  size_t length_ = 0;
};

}  // namespace stoker
