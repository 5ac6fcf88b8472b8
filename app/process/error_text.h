#pragma once

#include <string>

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

}  // namespace stoker
