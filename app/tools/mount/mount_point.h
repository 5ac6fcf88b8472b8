#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "io/core/error.h"

namespace stoker {

// What is mounted on a directory, as the kernel has it: the file system's type. Empty: nothing.
// `mountinfo`: the text of /proc/self/mountinfo. Pure; any thread.
std::optional<std::string> mounted_on(const std::string& directory, const std::string& mountinfo);

// The directory, absolute and without links above it. Makes sure that something can be mounted on
// it: it is there, is empty, and nothing is mounted on it. What a `stoker mount` left there that
// was killed is unmounted, and notified. Error(ExitCode::environment) with what to do.
std::string prepare_mount_point(const std::string& directory, const Notify& notify);

// How many bytes the kernel reads ahead of a sequential reader of the file system on `directory`.
// Notifies where that is not allowed.
void set_read_ahead(const std::string& directory, uint64_t bytes, const Notify& notify);

}  // namespace stoker
