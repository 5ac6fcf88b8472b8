#pragma once

#include <vector>

#include "app/tools/run_program/program_io.h"
#include "io/profiler/preload/preload_folder.h"
#include "io/profiler/profile.h"

namespace stoker {

// All processes' counters as one profile, with a rank for each process, for Darshan's log. Begin,
// end, process and command are `program`'s. Takes the files out of `processes`. Pure, but for the
// name of the host and the mounts.
IoProfile profile_of(std::vector<PreloadedProcess>& processes, const ProgramIo& program,
                     const std::string& command);

// Adds processes and files to `program`, the most time first, and what is missing to its notes.
// Pure.
void add_processes(const std::vector<PreloadedProcess>& processes, ProgramIo& program);

}  // namespace stoker
