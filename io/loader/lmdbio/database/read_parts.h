#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "io/core/system/memory.h"
#include "io/storage/storage.h"

namespace stoker {

// Reads small parts of an object in few requests: parts that lie within 64 KiB of one another come
// by one, up to 1 MiB, and several are in flight. take(i, bytes) is called with each part, in the
// order in which they lie, by the caller's thread; the bytes live as long as the call.
//
// parts: in any order; they may overlap, and each must lie in the object and not be empty. Any
// thread. IoError as the tier's, or where the object ends before the listing says. What `take`
// throws ends it.
void read_parts(const Storage& tier, const ObjectInfo& object, std::span<const Range> parts,
                const std::function<void(size_t part, Bytes bytes)>& take);

}  // namespace stoker
