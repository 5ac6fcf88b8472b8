#pragma once

#include <exception>
#include <optional>

#include "io/core/error.h"

// A machine, or the part of it that a process may use, that ran short of memory, threads or
// descriptors. Any thread.

namespace stoker {

// What an exception means that is not an Error: ExitCode::environment, with what to do, where
// memory, threads, or what an IoError would be for, ran short. Empty: it is a bug of ours.
std::optional<Error> shortage(const std::exception& exception);

// The process has no descriptor or memory left for the operation: that says nothing of its file.
bool is_shortage(const IoError& error);

}  // namespace stoker
