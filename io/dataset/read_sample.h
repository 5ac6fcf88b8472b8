#pragma once

#include <cstdint>
#include <string>

#include "io/core/error.h"
#include "io/core/system/memory.h"
#include "io/dataset/dataset.h"

namespace stoker {

// What it means for a run that a sample cannot be read: the one rule of loaders, conversions and
// benchmarks. Only what is there can be bad. Any thread.
//
//   the object's bytes are damaged, or there is no such object     BadSample
//   the tier fails: a server is gone, a token has expired,         Error(ExitCode::storage)
//   a file may not be opened, a disk gives no answer
//   the process ran short of memory or descriptors                 Error(ExitCode::environment)

// Dataset::read() by that rule.
EncodedSample read_sample(const Dataset& dataset, Split split, int64_t index, Buffer& scratch);

// The Error by that rule where `what` was being read: it names that, the tier, the cause and what
// to do.
Error tier_failure(const std::string& what, const IoError& error);

}  // namespace stoker
