#include "app/experiment/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/experiment/kinds.h"
#include "io/core/plugin.h"
#include "io/metrics/record/figures.h"

namespace stoker {

ExitCode list_components(const ListArguments& arguments) {
  if (arguments.figures) {
    fmt::print("{}", figures_page());
    return ExitCode::ok;
  }
  for (const std::string& plugin : arguments.plugins) load_plugin(plugin);
  const std::vector<Kind> chosen =
      arguments.kind.empty() ? kinds() : std::vector<Kind>{find_kind(arguments.kind)};
  nlohmann::json json = nlohmann::json::object();
  for (const Kind& kind : chosen) {
    json[kind.name] = kind.types;
    if (!arguments.json) fmt::print("{:<10} {}\n", kind.name, fmt::join(kind.types, ", "));
  }
  if (arguments.json) fmt::print("{}\n", json.dump(2));
  return ExitCode::ok;
}

ExitCode describe_component(const ListArguments& arguments) {
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
    return ExitCode::ok;
  }
  fmt::print("{} {}\n", arguments.kind, arguments.type);
  if (rows.empty()) fmt::print("  no options\n");
  for (const FieldHelp& row : rows) {
    const std::string fallback = row.required ? "required" : "default " + row.fallback;
    fmt::print("  {:<{}}  {}\n  {:<{}}  {}; {}\n", row.key, width, row.help, "", width, row.type,
               fallback);
  }
  return ExitCode::ok;
}

}  // namespace stoker
