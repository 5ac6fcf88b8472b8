#include "app/tools/run_program/run_program.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "app/tools/run_program/program_io.h"
#include "app/tools/run_program/started_program.h"
#include "io/core/config/plugin.h"
#include "io/core/system/child_process.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

template <class T>
int64_t ns_of(T time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

std::vector<std::string> with_preload() {
  return environment_with({"LD_PRELOAD=" + plugin_beside_library("stoker_preload")});
}

}  // namespace

ExitCode run_program(const RunProgramArguments& arguments) {
  const std::string path = find_program(arguments.command.front());
  ProgramIo io;
  if (const std::string why = why_not_preloaded(path); !why.empty()) {
    io.notes.push_back(fmt::format("{} is not counted: {}", printable(path), why));
    print_note(io.notes.back());
  }
  io.begin_ns = ns_of(std::chrono::system_clock::now());
  io.begin_monotonic_ns = ns_of(std::chrono::steady_clock::now());
  StartedProgram program(path, arguments.command, with_preload());
  io.pid = program.pid();
  // What watches the program (watch/) begins here.
  std::optional<int> exit_code;
  while (!(exit_code = program.wait_for(1000))) {
  }
  io.exit_code = *exit_code;
  io.seconds =
      1e-9 * static_cast<double>(ns_of(std::chrono::steady_clock::now()) - io.begin_monotonic_ns);
  // The verdict on `io` (verdict/) is made here.
  ResultTable totals;
  totals.put({"seconds", "s", 2}, io.seconds);
  totals.put({"exit_code", "exit code"}, int64_t{io.exit_code});
  // Standard output is the program's: what is said to people goes to standard error.
  if (arguments.json) {
    print_result(true, totals.record_json(), "");
  } else {
    print_note(totals.record_text(2));
  }
  return static_cast<ExitCode>(io.exit_code);
}

}  // namespace stoker
