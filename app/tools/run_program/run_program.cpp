#include "app/tools/run_program/run_program.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "app/process/stop_signal.h"
#include "app/tools/run_program/attached_program.h"
#include "app/tools/run_program/program_io.h"
#include "app/tools/run_program/started_program.h"
#include "app/tools/run_program/verdict/program_verdict.h"
#include "app/tools/run_program/watch/program_watch.h"
#include "io/core/system/child_process.h"
#include "io/core/system/file.h"
#include "io/core/system/standard_streams.h"
#include "io/core/text/json.h"
#include "io/core/text/text.h"
#include "io/profiler/log/darshan_log.h"
#include "io/profiler/preload/preload_folder.h"

namespace stoker {
namespace {

template <class T>
int64_t ns_of(T time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

// Runs it to its end, and watches it. While it runs, logs of processes that have ended are taken
// in.
ProgramSamples follow(const std::string& path, const std::vector<std::string>& command,
                      PreloadFolder& counters, ProgramIo& io) {
  constexpr int kLookMs = 1000;
  StartedProgram program(path, command, environment_with(counters.environment()));
  io.pid = program.pid();
  ProgramWatch watch(program.pid());
  std::optional<int> exit_code;
  while (!(exit_code = program.wait_for(kLookMs))) counters.collect_ended();
  io.exit_code = *exit_code;
  io.seconds =
      1e-9 * static_cast<double>(ns_of(std::chrono::steady_clock::now()) - io.begin_monotonic_ns);
  return watch.stop();
}

// The same for one that runs already, until it ends, or the time or the user's patience does.
ProgramSamples follow_attached(AttachedProgram& program, const RunProgramArguments& arguments,
                               PreloadFolder& counters, ProgramIo& io) {
  const StopSignal stop;
  ProgramWatch watch(static_cast<pid_t>(arguments.pid));
  const auto until = std::chrono::steady_clock::now() +
                     std::chrono::duration<double>(arguments.seconds.value_or(1e9));
  print_note(fmt::format(
      "counting process {} ({} processes, {} places in them), {}", arguments.pid,
      program.processes(), program.slots(),
      arguments.seconds ? fmt::format("for {} s", *arguments.seconds) : "until Ctrl-C"));
  io.pid = static_cast<pid_t>(arguments.pid);
  for (int i = 0; !stop.requested() && !program.ended(); ++i) {
    if (std::chrono::steady_clock::now() >= until) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (i % 20 == 0) counters.collect_ended();
  }
  io.seconds =
      1e-9 * static_cast<double>(ns_of(std::chrono::steady_clock::now()) - io.begin_monotonic_ns);
  ProgramSamples samples = watch.stop();
  program.let_go();
  io.notes.insert(io.notes.end(), program.notes().begin(), program.notes().end());
  return samples;
}

void note(ProgramIo& io, const std::string& text) { io.notes.push_back(text); }

// Nothing was counted, and nothing said so before.
void explain_silence(const std::string& path, ProgramIo& io) {
  if (io.processes > 0 || !io.notes.empty()) return;
  const std::string library = PreloadFolder::library();
  note(io, std::filesystem::exists(library)
               ? printable(path) + " has loaded no counters: its linker ignores LD_PRELOAD"
               : printable(library) + " is missing: build it, or install it again");
}

ResultTable totals_of(const ProgramIo& io, const std::string& log) {
  int64_t bytes_read = 0, bytes_written = 0, opens = 0, reads = 0, writes = 0;
  for (const ProgramIo::File& file : io.files) {
    bytes_read += file.bytes_read;
    bytes_written += file.bytes_written;
    opens += file.opens;
    reads += file.reads;
    writes += file.writes;
  }
  ResultTable totals;
  totals.put({"seconds", "s", 2}, io.seconds);
  totals.put({"exit_code", "exit code"}, int64_t{io.exit_code});
  totals.put({"processes", "processes"}, io.processes);
  totals.put({"files", "files"}, static_cast<int64_t>(io.files.size()));
  totals.put({"opens", "opens"}, opens);
  totals.put({"reads", "reads"}, reads);
  totals.put({"writes", "writes"}, writes);
  totals.put({"bytes_read", "MB read", 3, 1e-6}, static_cast<double>(bytes_read));
  totals.put({"bytes_written", "MB written", 3, 1e-6}, static_cast<double>(bytes_written));
  totals.put({"log", "log"}, log);
  return totals;
}

void check(const RunProgramArguments& arguments) {
  if (arguments.pid > 0 && !arguments.command.empty()) {
    throw Error(ExitCode::config, "--pid and a program: give one of them");
  }
  if (arguments.pid <= 0 && arguments.command.empty()) {
    throw Error(ExitCode::config, "no program: give it and its words behind --, or --pid PID");
  }
  if (arguments.seconds && arguments.pid <= 0) {
    throw Error(ExitCode::config, "--seconds is for --pid: leave it out, or use `timeout`");
  }
  if (!arguments.tiers.empty() && arguments.pid > 0) {
    throw Error(ExitCode::config,
                "--tier cannot be had by a program that runs: start it by `stoker run -- COMMAND`");
  }
}

// The log, the record beside it, and what is said.
ExitCode finish(const RunProgramArguments& arguments, const ProgramSamples& samples,
                std::vector<PreloadedProcess>& processes, ProgramIo& io,
                const std::string& command) {
  const std::string log =
      arguments.log.empty() ? fmt::format("stoker-run-{}.darshan", io.pid) : arguments.log;
  write_darshan_log(profile_of(processes, io, command), log);
  const ProgramVerdict verdict = judge_program(samples, io);
  nlohmann::json record = program_record(samples, io, verdict);
  const ResultTable totals = totals_of(io, log);
  record["log"] = to_text(log);
  record["io"] = totals.record_json();
  if (!io.tiers.empty()) record["tiers"] = tiers_json(io.tiers);
  if (!is_written_through(log)) {  // beside a device or a FIFO nothing is written
    const std::string text = json_text(record);
    atomic_write_file(record_beside(log),
                      {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  }
  // Standard output is the program's: what is said to people goes to standard error.
  if (arguments.json) {
    print_result(true, record, "");
  } else {
    std::string words =
        program_text(samples, io, verdict) + "\n" + totals.record_text(2) + tiers_text(io.tiers);
    for (const std::string& line : io.notes) words += "  " + line + '\n';
    write_stderr(words);
  }
  return static_cast<ExitCode>(io.exit_code);
}

// --pid
ExitCode watch_program(const RunProgramArguments& arguments) {
  ProgramIo io;
  PreloadFolder counters;
  io.begin_ns = ns_of(std::chrono::system_clock::now());
  io.begin_monotonic_ns = counters.begin_ns();
  AttachedProgram program(static_cast<pid_t>(arguments.pid), PreloadFolder::library(), counters);
  const ProgramSamples samples = follow_attached(program, arguments, counters, io);
  std::vector<PreloadedProcess> processes = counters.collect();
  add_processes(processes, io);
  return finish(arguments, samples, processes, io,
                fmt::format("{}", fmt::join(program.command(), " ")));
}

}  // namespace

ExitCode run_program(const RunProgramArguments& arguments) {
  check(arguments);
  if (arguments.pid > 0) return watch_program(arguments);
  const std::string path = find_program(arguments.command.front());
  ProgramIo io;
  if (const std::string why = why_not_preloaded(path); !why.empty()) {
    note(io, fmt::format("{} is not counted: {}", printable(path), why));
  }
  // Before anything has a thread.
  const auto tiers = program_tiers({arguments.tiers, arguments.tier_cache, print_note});
  PreloadFolder counters;
  io.begin_ns = ns_of(std::chrono::system_clock::now());
  io.begin_monotonic_ns = counters.begin_ns();
  const ProgramSamples samples = follow(path, arguments.command, counters, io);
  if (tiers) io.tiers = tiers->figures();
  std::vector<PreloadedProcess> processes = counters.collect();
  add_processes(processes, io);
  explain_silence(path, io);
  return finish(arguments, samples, processes, io,
                fmt::format("{}", fmt::join(arguments.command, " ")));
}

}  // namespace stoker
