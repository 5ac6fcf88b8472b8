#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "io/core/system/memory.h"

namespace stoker {

// The entropy-coded data of one scan without the bytes that only keep them apart from markers
// (T.81, B.1.1.5). One thread at a time; the memory is used again. Needs AVX2.
class ScanBytes {
 public:
  // How many zeros follow the last segment, because a decoder may run on before it looks where it
  // is.
  static constexpr size_t kSlack = 5632;

  // `rest`: the file from the scan's first byte; it is copied. False: the scan does not go on to an
  // end-of-image marker with nothing but restart markers in their order between (`restarts` says
  // whether such are allowed).
  bool assign(Bytes rest, bool restarts);
  // The same up to the first marker that is not one of these restarts. Returns where in `rest` that
  // marker is. Nothing: the file ends before.
  std::optional<size_t> assign_up_to_marker(Bytes rest, bool restarts);
  // The first byte of the first segment.
  const uint8_t* data() const { return buffer_.data(); }
  // Where each segment between restart markers ends; the last one is the scan's end.
  std::span<const size_t> ends() const { return ends_; }

 private:
  Buffer buffer_;
  std::vector<size_t> ends_;
};

}  // namespace stoker
