#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/commands/commands.h"
#include "app/experiment/kinds.h"
#include "io/core/plugin.h"
#include "io/metrics/figures.h"

namespace stoker {
namespace {

struct Arguments {
  std::string kind;
  std::string type;
  std::vector<std::string> plugins;
  bool json = false;
  bool figures = false;
};

void add_shared(CLI::App& command, Arguments& arguments) {
  command.add_option("--plugin", arguments.plugins, "absolute path of a plug-in to load first");
  command.add_flag("--json", arguments.json, "print JSON");
}

void list(const Arguments& arguments) {
  if (arguments.figures) return fmt::print("{}", figures_page());
  for (const std::string& plugin : arguments.plugins) load_plugin(plugin);
  const std::vector<Kind> chosen =
      arguments.kind.empty() ? kinds() : std::vector<Kind>{find_kind(arguments.kind)};
  nlohmann::json json = nlohmann::json::object();
  for (const Kind& kind : chosen) {
    json[kind.name] = kind.types;
    if (!arguments.json) fmt::print("{:<10} {}\n", kind.name, fmt::join(kind.types, ", "));
  }
  if (arguments.json) fmt::print("{}\n", json.dump(2));
}

void describe(const Arguments& arguments) {
  for (const std::string& plugin : arguments.plugins) load_plugin(plugin);
  const std::vector<FieldHelp> rows = find_kind(arguments.kind).describe(arguments.type);
  nlohmann::json json = nlohmann::json::array();
  size_t width = 4;
  for (const FieldHelp& row : rows) {
    width = std::max(width, row.key.size());
    json.push_back({{"key", row.key},
                    {"type", row.type},
                    {"default", row.required ? nlohmann::json() : nlohmann::json(row.fallback)},
                    {"required", row.required},
                    {"help", row.help}});
  }
  if (arguments.json) {
    fmt::print("{}\n", json.dump(2));
    return;
  }
  fmt::print("{} {}\n", arguments.kind, arguments.type);
  if (rows.empty()) fmt::print("  no options\n");
  for (const FieldHelp& row : rows) {
    const std::string fallback = row.required ? "required" : "default " + row.fallback;
    fmt::print("  {:<{}}  {}\n  {:<{}}  {}; {}\n", row.key, width, row.help, "", width, row.type,
               fallback);
  }
}

}  // namespace

void add_list(CLI::App& app, ExitCode& result) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("list", "List the components there are");
  command->add_option("KIND", arguments->kind, "storage, dataset, decoder, loader, ...");
  command->add_flag("--figures", arguments->figures,
                    "instead: every figure of a run, as a page of Markdown");
  add_shared(*command, *arguments);
  command->callback([arguments, &result] {
    list(*arguments);
    result = ExitCode::ok;
  });
}

void add_describe(CLI::App& app, ExitCode& result) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("describe", "Describe a component's options");
  command->add_option("KIND", arguments->kind, "storage, dataset, decoder, loader, ...")
      ->required();
  command->add_option("NAME", arguments->type, "its type: in YAML")->required();
  add_shared(*command, *arguments);
  command->callback([arguments, &result] {
    describe(*arguments);
    result = ExitCode::ok;
  });
}

}  // namespace stoker
