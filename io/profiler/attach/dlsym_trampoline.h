#pragma once

#include "io/profiler/wrap/wrapped_functions.h"

namespace stoker {

// dlsym as a function to be wrapped: its wrapper calls `before` and jumps on to what stood in the
// slot, with registers, stack and return address as they were, for dlsym asks who its caller is.
// One original: where a process has another one, its slots stay as they are.
WrappedFunction dlsym_before(void (*before)());

}  // namespace stoker
