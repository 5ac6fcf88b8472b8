#pragma once

#include <chrono>

#include "io/core/error.h"

namespace stoker {

// This process ends here, with the error on standard error and its exit code; no destructor runs.
// Any thread.
[[noreturn]] void end_now(const Error& error);

// This process ends within that time in any case: end_now() ends it if it has not ended by itself.
// Used after a failure or a signal, when threads or destructors may wait for something that does
// not answer any more. Any thread; returns at once.
void end_within(std::chrono::milliseconds time, const Error& error);

}  // namespace stoker
