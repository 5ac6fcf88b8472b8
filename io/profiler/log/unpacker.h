#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "io/core/system/memory.h"
#include "io/profiler/log/log_format.h"

namespace stoker {

// One compressed stream of a Darshan log, unpacked piece by piece. One thread at a time; it owns no
// bytes.
class Unpacker {
 public:
  struct Step {
    size_t taken = 0, made = 0;  // bytes of both sides
    bool ended = false;          // the stream has; what was not taken is behind it
  };
  // At the begin of a stream. std::bad_alloc. Not for DarshanFormat::kNone.
  static std::unique_ptr<Unpacker> begin(DarshanFormat::Compression compression);
  virtual ~Unpacker() = default;
  // From `packed` into `to`, as far as both go. Nothing: it is damaged, or needs more bytes.
  virtual std::optional<Step> step(Bytes packed, std::span<uint8_t> to) = 0;
};

}  // namespace stoker
