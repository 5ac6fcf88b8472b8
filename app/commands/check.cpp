#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/commands/commands.h"
#include "app/experiment/options.h"
#include "app/base/json.h"

namespace stoker {
namespace {

struct Arguments : ConfigArguments {
  bool json = false;
};

}  // namespace

void add_check(CLI::App& app, ExitCode& result) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "check", "Check a configuration without touching data; print it with every default");
  add_config_arguments(*command, *arguments);
  command->add_flag("--json", arguments->json, "print JSON instead of YAML");
  command->callback([arguments, &result] {
    const ExperimentOptions options = read_experiment(arguments->config, arguments->overrides);
    if (arguments->json) {
      fmt::print("{}\n", to_json(dump_struct(options)).dump(2));
    } else {
      fmt::print("{}", resolved_yaml(options));
    }
    result = ExitCode::ok;
  });
}

}  // namespace stoker
