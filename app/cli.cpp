#include "app/cli.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "app/commands/commands.h"
#include "app/run/environment.h"
#include "io/core/config.h"
#include "io/core/error.h"

namespace stoker {
namespace {

constexpr const char* kFooter = R"(
Exit codes: 0 ok, 2 usage or configuration, 3 environment (missing file, permission, space),
4 too many bad samples, 5 checkpoint or storage, 6 device, 7 a stated threshold was missed, 70 a bug of ours,
75 stopped by SIGTERM (requeue), 130 stopped by SIGINT.

Start with:  stoker train configs/quickstart.yaml)";

int fail(ExitCode code, const std::string& text) {
  fmt::print(stderr, "error: {}\n", text);
  return static_cast<int>(code);
}

}  // namespace

void add_config_arguments(CLI::App& command, ConfigArguments& arguments) {
  command.add_option("CONFIG", arguments.config, "experiment, a YAML file")->required();
  command.add_option("OVERRIDES", arguments.overrides, "a.b=value, in the place of the file's")
      ->type_name("a.b=c");
}

uint64_t parse_bytes(const std::string& option, const std::string& text) {
  ByteSize size;
  if (Scalar<ByteSize>::parse(text, size) && size.bytes > 0) return size.bytes;
  throw Error(ExitCode::config,
              fmt::format("{} must be {}, got '{}'", option, Scalar<ByteSize>::expected, text));
}

int run_cli(int argc, char** argv) {
  CLI::App app{"Stoker trains image classifiers and measures what storage and loading cost them."};
  app.name("stoker");
  app.footer(kFooter);
  app.set_version_flag("--version", version_line());
  app.require_subcommand(1);
  ExitCode result = ExitCode::ok;
  add_train(app, result);
  add_check(app, result);
  add_list(app, result);
  add_describe(app, result);
  add_dataset(app, result);
  add_bench(app, result);
  add_checkpoint(app, result);
  add_sweep(app, result);
  add_headspace(app, result);
  add_report(app, result);
  add_compare(app, result);
  add_healthcheck(app, result);
  add_doctor(app, result);
  add_timelogger(app, result);
  add_trace(app, result);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::config);
  } catch (const Error& error) {
    return fail(error.code(), error.what());
  } catch (const std::exception& error) {
    return fail(ExitCode::bug,
                fmt::format("this is a bug of stoker, please report it: {}", error.what()));
  }
  return static_cast<int>(result);
}

}  // namespace stoker
