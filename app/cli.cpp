#include "app/cli.h"

#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "app/commands/commands.h"
#include "app/run/version.h"
#include "io/core/error.h"

namespace stoker {
namespace {

constexpr const char* kFooter = R"(
Exit codes: 0 ok, 2 usage or configuration, 3 environment (missing file, permission, space),
4 too many bad samples, 5 checkpoint or storage, 6 device, 7 a stated threshold was missed, or a loss is NaN, 70 a bug of ours,
75 stopped by SIGTERM (requeue), 130 stopped by SIGINT.

Start with:  stoker train configs/quickstart.yaml)";

int fail(ExitCode code, const std::string& text) {
  fmt::print(stderr, "error: {}\n", text);
  return static_cast<int>(code);
}

}  // namespace

int run_cli(int argc, char** argv) {
  CommandLine line(
      "stoker", "Stoker trains image classifiers and measures what storage and loading cost them.",
      version_line());
  const Command program = line.root();
  program.footer(kFooter);
  for (const auto add : {add_train, add_check, add_list, add_describe, add_dataset, add_bench,
                         add_checkpoint, add_sweep, add_headspace, add_report, add_compare,
                         add_healthcheck, add_doctor, add_timelogger, add_trace}) {
    add(program);
  }
  try {
    return static_cast<int>(line.run(argc, argv));
  } catch (const Error& error) {
    return fail(error.code(), error.what());
  } catch (const std::exception& error) {
    return fail(ExitCode::bug,
                fmt::format("this is a bug of stoker, please report it: {}", error.what()));
  }
}

}  // namespace stoker
