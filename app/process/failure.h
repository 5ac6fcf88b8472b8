#pragma once

#include <chrono>
#include <string>

#include "io/core/error.h"

namespace stoker {

// What the program prints of an error, each on a line of its own, ready for a terminal:
//
//   error: device: unknown device 'gpu'
//   hint: did you mean 'cuda'?
//
// The hint is what a message ends with (Error): what to do, behind a colon or a semicolon and in
// the imperative, or the name that may have been meant. A message of several lines is left as it
// is, and so is one without a hint.
std::string error_text(const std::string& what);

// This process ends here, with the error on standard error and its exit code; no destructor runs.
// Any thread.
[[noreturn]] void end_now(const Error& error);

// This process ends within that time in any case: end_now() ends it if it has not ended by itself.
// Used after a failure or a signal, when threads or destructors may wait for something that does
// not answer any more. Any thread; returns at once.
void end_within(std::chrono::milliseconds time, const Error& error);

}  // namespace stoker
