#pragma once

namespace stoker {

// The whole command line: parses, runs the sub-command, prints errors as "error: ..." on standard
// error. Returns the exit code (io/core/error.h). Never throws.
int run_cli(int argc, char** argv);

}  // namespace stoker
