#pragma once

#include <cstdint>

#include "io/core/system/memory.h"
#include "io/storage/storage.h"

namespace stoker {

// An object from its begin to its end, read by the tier in large blocks: for whoever looks at all
// of it once. One thread; the tier must outlive it. IoError as the tier's.
class ObjectStream {
 public:
  ObjectStream(const Storage& tier, const ObjectInfo& object) : tier_(tier), object_(object) {}

  // The place of the next byte.
  uint64_t offset() const { return offset_; }
  uint64_t left() const { return object_.bytes - offset_; }
  // The next `count` bytes, or as many as are left; valid until the next call. They stay where they
  // are until skip().
  Bytes peek(uint64_t count);
  // count: at most left().
  void skip(uint64_t count) { offset_ += count; }

 private:
  const Storage& tier_;
  const ObjectInfo object_;
  Buffer block_;
  uint64_t begin_ = 0;  // of the block, in the object
  uint64_t offset_ = 0;
};

}  // namespace stoker
