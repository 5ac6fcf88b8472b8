#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "app/tools/run_program/program_io.h"
#include "app/tools/run_program/verdict/program_verdict.h"
#include "app/tools/run_program/watch/samples.h"

namespace stoker {

// All that was seen of a program, as `--json` prints it and as it is kept beside the log for the
// page of `stoker report`: {schema_version, command, exit_code, seconds, verdict, processes,
// threads, course, files, notes}. Pure functions.
nlohmann::json program_record(const ProgramSamples& samples, const ProgramIo& io,
                              const ProgramVerdict& verdict);
// The same for a terminal: verdict, evidence, causes, threads, files.
std::string program_text(const ProgramSamples& samples, const ProgramIo& io,
                         const ProgramVerdict& verdict);

// Where the record of a log is kept: OUT.darshan has OUT.json.
std::string record_beside(const std::string& log);

}  // namespace stoker
