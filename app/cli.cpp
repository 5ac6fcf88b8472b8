#include "app/cli.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <system_error>

#include "app/commands/commands.h"
#include "app/run/version.h"
#include "io/core/error.h"
#include "io/core/system/shortage.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

constexpr const char* kFooter = R"(
Exit codes: 0 success; 2 wrong usage or configuration; 3 wrong environment (a missing file, permission or space);
4 too many bad samples; 5 a checkpoint or the storage failed; 6 the device failed; 7 a stated threshold was missed, or a
loss is NaN; 70 a bug of this program; 75 stopped by SIGTERM (start it again to go on); 130 stopped by SIGINT.

Start with:  stoker train configs/quickstart.yaml)";

int fail(ExitCode code, const std::string& text) {
  fmt::print(stderr, "error: {}\n", printable(text, LineBreaks::kept));
  return static_cast<int>(code);
}

// A thread may run out of memory where nobody can catch the exception. Then there is no memory for
// a message either.
void end_without_memory() {
  try {
    if (const std::exception_ptr error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    constexpr char kText[] = "error: out of memory: raise the limit of this process or job\n";
    static_cast<void>(!::write(STDERR_FILENO, kText, sizeof kText - 1));
    std::_Exit(static_cast<int>(ExitCode::environment));
  } catch (...) {
  }
  std::abort();
}

}  // namespace

int run_cli(int argc, char** argv) {
  CommandLine line(
      "stoker", "Stoker trains image classifiers and measures what storage and loading cost them.",
      version_line());
  const Command program = line.root();
  program.footer(kFooter);
  std::set_terminate(end_without_memory);
  // A write beyond the limit on file sizes then fails with an error instead of a signal.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    // Only the command that is called is declared, so that only its own libraries are loaded.
    if (argc < 2 || !add_command(program, argv[1])) {
      const std::vector<std::string> left_out = add_all_commands(program);
      if (!left_out.empty()) {
        program.footer(
            fmt::format("{}\n\nNot built here, or not usable: {}. `./run.sh list` builds all.",
                        kFooter, fmt::join(left_out, ", ")));
      }
    }
    const ExitCode code = line.run(argc, argv);
    if (std::fflush(stdout) != 0) {
      throw std::system_error(errno, std::generic_category(), "cannot write to file");  // as fmt
    }
    return static_cast<int>(code);
  } catch (const Error& error) {
    return fail(error.code(), error.what());
  } catch (const std::exception& error) {
    if (std::ferror(stdout) != 0) {
      return fail(ExitCode::environment, fmt::format("standard output: {}", error.what()));
    }
    if (const std::optional<Error> known = shortage(error))
      return fail(known->code(), known->what());
    return fail(ExitCode::bug,
                fmt::format("this is a bug of stoker, please report it: {}", error.what()));
  }
}

}  // namespace stoker
