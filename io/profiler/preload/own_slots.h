#pragma once

#include <cstddef>
#include <cstdint>

#include "io/profiler/attach/wrapped_function.h"

namespace stoker {

// What io/profiler/attach does for this program, for any other one, with libc alone: the slots of
// relocations, in all objects that are loaded now, which hold one of the functions as its instance
// has it (WrapperInstance::callee) get its wrapper, and back. Slots that hold anything else stay:
// somebody else's wrapper, or a sanitizer's. Slots that no call has bound yet get it where the
// binding would lead to that function. Under the loader's lock, so one thread at a time; others may
// call through the slots meanwhile. Return how many were changed.
int64_t put_wrappers_in(const WrappedFunction* functions, size_t count);
int64_t put_originals_back(const WrappedFunction* functions, size_t count);

}  // namespace stoker
