#include "app/cli.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "app/commands/commands.h"
#include "app/commands/listing.h"
#include "app/process/failure.h"
#include "app/process/provenance.h"
#include "io/core/error.h"
#include "io/core/system/standard_streams.h"

namespace stoker {
namespace {

constexpr const char* kFooter = "\nExit codes: stoker help exit-codes";
constexpr const char* kStart = "\nStart with: stoker train configs/quickstart.yaml";

int fail(ExitCode code, const std::string& text) {
  write_stderr(error_text(text));
  return static_cast<int>(code);
}

// `help train` is `train --help`. Of what no command's help says, `help` is a command itself.
std::vector<std::string> without_help(std::vector<std::string> words) {
  if (words.empty() || words[0] != "help") return words;
  if (words.size() == 2 && (is_help_topic(words[1]) || words[1].starts_with('-'))) return words;
  words.erase(words.begin());
  words.emplace_back("--help");
  return words;
}

// What an exception that reached the end of the program means.
Error explain(const std::exception& exception) {
  if (const auto* const error = dynamic_cast<const Error*>(&exception)) return *error;
  if (const std::optional<Error> known = shortage(exception)) return *known;
  return {ExitCode::bug,
          fmt::format("this is a bug of stoker, please report it: {}", exception.what())};
}

// An exception that nobody catches, in a thread of a library or where none may leave a function.
// It would end the process by a signal, without a word.
void end_uncaught() {
  try {
    if (const std::exception_ptr error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {  // there is no memory for a message of many parts either
    write_stderr("error: out of memory\nhint: raise the limit of this process or job\n");
    std::_Exit(static_cast<int>(ExitCode::environment));
  } catch (const std::exception& error) {
    end_now(explain(error));
  } catch (...) {
  }
  end_now(explain(std::runtime_error("it cannot go on")));
}

}  // namespace

int run_cli(int argc, char** argv) {
  CommandLine line(
      "stoker", "Stoker trains image classifiers and measures what storage and loading cost them.",
      version_line());
  const Command program = line.root();
  program.footer(kFooter);
  line.know_keys(keys_with);
  std::set_terminate(end_uncaught);
  // A write beyond the limit on file sizes, or to a reader that has gone away, then fails with an
  // error instead of a signal.
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  try {
    // Only the command that is called is declared, so that only its own libraries are loaded.
    const std::vector<std::string> words =
        without_help({argv + std::min(argc, 1), argv + std::max(argc, 1)});
    const bool one =
        !words.empty() && (words[0] == "--version" ||
                           add_command(program, words[0], words.size() > 1 ? words[1] : ""));
    if (!one) {
      const std::vector<std::string> left_out = add_all_commands(program);
      std::string footer = std::string(kFooter) + kStart;
      if (!left_out.empty()) {
        footer += fmt::format(
            "\n\nNot built here, or not usable: {}. `./run.sh list` builds all; "
            "of the wheels, stoker-train has the trainer's.",
            fmt::join(left_out, ", "));
      }
      program.footer(footer);
    }
    const ExitCode code = line.run(words);
    if (std::fflush(stdout) != 0 && errno != EPIPE) {
      throw std::system_error(errno, std::generic_category(), "cannot write to file");  // as fmt
    }
    return static_cast<int>(code);
  } catch (const std::exception& error) {
    const auto* const failed = dynamic_cast<const std::system_error*>(&error);
    if (failed != nullptr && std::ferror(stdout) != 0) {
      // Its reader has had enough. A command that was cut off has no other exit code to tell.
      if (failed->code() == std::errc::broken_pipe) {
        return static_cast<int>(ExitCode::reader_gone);
      }
      return fail(ExitCode::environment, fmt::format("standard output: {}", error.what()));
    }
    const Error known = explain(error);
    return fail(known.code(), known.what());
  }
}

}  // namespace stoker
