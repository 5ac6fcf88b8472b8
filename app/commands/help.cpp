#include "app/commands/help.h"

#include <fmt/format.h>

#include "app/process/version.h"

namespace stoker {
namespace {

constexpr const char* kExitCodes = R"(Exit codes:
    0  success
    2  wrong usage or configuration
    3  wrong environment: a missing file, permission or space
    4  more bad samples than dataset.on_error allows
    5  a checkpoint or the storage failed
    6  the device failed
    7  a stated threshold was missed, or a loss is no number
   70  a bug of this program
   75  stopped by SIGTERM, SIGHUP or SIGUSR1: start it again to go on
  130  stopped by SIGINT
  141  cut off: whoever read its output went away (never a training)
)";

}  // namespace

bool is_help_topic(const std::string& word) { return word == "exit-codes"; }

ExitCode print_help(const HelpArguments&) {
  fmt::print("{}", kExitCodes);
  return ExitCode::ok;
}

ExitCode print_version() {
  fmt::print("{}\n", version_line());
  return ExitCode::ok;
}

}  // namespace stoker
