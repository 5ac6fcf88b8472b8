#include "app/commands/listing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "app/base/result_table.h"
#include "io/checkpoint/checkpointer.h"
#include "io/core/config/plugin.h"
#include "io/core/text/json.h"
#include "io/experiment/data_options.h"
#include "io/metrics/record/figures.h"
#include "io/metrics/sink.h"

namespace stoker {
namespace {

using Kind = ComponentKind;

// The end of a message about a word that is not known: what is meant, or where else it may be.
std::string known_or_plugin(const std::string& word, const std::vector<std::string>& meant,
                            const std::vector<std::string>& known) {
  const std::string close = did_you_mean(word, meant);
  return close.empty()
             ? suggestion(word, known) + "; name a plug-in that has it by --plugin PATH.so"
             : close;
}

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const Kind& kind : component_kinds()) names.push_back(kind.name);
  return names;
}

Kind find_kind(const std::string& name) {
  for (const Kind& kind : component_kinds()) {
    if (kind.name == name) return kind;
  }
  throw Error(ExitCode::config, "unknown kind '" + name + "'" + suggestion(name, kind_names()));
}

// The kinds that have a type of this name. Error(ExitCode::config): there is none.
std::vector<Kind> kinds_with(const std::string& type) {
  std::vector<Kind> kinds = component_kinds();
  std::vector<std::string> names = kind_names();
  for (const Kind& kind : kinds) names.insert(names.end(), kind.types.begin(), kind.types.end());
  std::erase_if(kinds, [&](const Kind& kind) {
    return std::ranges::find(kind.types, type) == kind.types.end();
  });
  if (!kinds.empty()) return kinds;
  throw Error(ExitCode::config, "'" + type + "' is neither a kind nor a type" +
                                    known_or_plugin(type, names, kind_names()));
}

nlohmann::json to_json(const std::vector<FieldHelp>& rows) {
  nlohmann::json json = nlohmann::json::array();
  for (const FieldHelp& row : rows) {
    json.push_back({{"key", row.key},
                    {"type", row.type},
                    {"default", row.required ? nlohmann::json() : nlohmann::json(row.fallback)},
                    {"required", row.required},
                    {"help", row.help}});
  }
  return json;
}

// Types by the plug-in that they are in: "decoder opencv".
std::map<std::string, std::vector<std::string>> types_of_plugins(const std::vector<Kind>& kinds) {
  std::map<std::string, std::vector<std::string>> types;
  for (const Kind& kind : kinds) {
    for (const std::string& type : kind.types) {
      const std::string path = kind.plugin(type);
      if (!path.empty()) types[path].push_back(kind.name + " " + type);
    }
  }
  return types;
}

// "decoder opencv (plug-in /usr/lib/stoker/stoker_opencv.so)"
std::string title_of(const Kind& kind, const std::string& type) {
  const std::string plugin = kind.plugin(type);
  return kind.name + " " + type + (plugin.empty() ? "" : " (plug-in " + plugin + ")");
}

// The options of a type. Error(ExitCode::config): the kind has no such type among what is loaded.
std::vector<FieldHelp> options_of(const Kind& kind, const std::string& type) {
  if (std::ranges::find(kind.types, type) != kind.types.end()) return kind.describe(type);
  throw Error(ExitCode::config, fmt::format("unknown {} '{}'{}", kind.name, type,
                                            known_or_plugin(type, kind.types, kind.types)));
}

// Loads all plug-ins there are: those that the arguments name, of which each has to work, and those
// beside the library. Returns which of these could not be loaded.
std::vector<FailedPlugin> load_plugins(const ListArguments& arguments) {
  for (const std::string& plugin : arguments.plugins) load_plugin(plugin);
  return load_all_plugins();
}

std::string to_text(const std::string& title, const std::vector<FieldHelp>& rows) {
  std::string text = title + "\n";
  if (rows.empty()) text += "  no options\n";
  size_t width = 4;
  for (const FieldHelp& row : rows) width = std::max(width, row.key.size());
  for (const FieldHelp& row : rows) {
    std::string fallback = row.required ? "required" : "default " + row.fallback;
    if (fallback.find('\n') != fallback.npos) {  // a component, whose options have a table
      fallback =
          fmt::format("default {{{}, ...}}", row.fallback.substr(0, row.fallback.find('\n')));
    }
    text += fmt::format("  {:<{}}  {}\n  {:<{}}  {}; {}\n", row.key, width, row.help, "", width,
                        row.type, fallback);
  }
  return text;
}

}  // namespace

std::vector<ComponentKind> component_kinds() {
  std::vector<Kind> all{component_kind<Storage>(), component_kind<Dataset>(),
                        component_kind<Decoder>(), component_kind<Loader>()};
  if (other_half().kinds != nullptr)
    std::ranges::move(other_half().kinds(), std::back_inserter(all));
  all.push_back(component_kind<Checkpointer>());
  all.push_back(component_kind<MetricsSink>());
  return all;
}

std::vector<FieldHelp> experiment_keys() {
  return other_half().keys != nullptr ? other_half().keys() : describe_struct<DataOptions>();
}

std::vector<std::string> keys_with(const std::string& word) {
  std::vector<std::string> keys;
  const auto add = [&](const std::string& prefix, const std::vector<FieldHelp>& rows) {
    for (const FieldHelp& row : rows) {
      const std::string key = prefix + row.key;
      const bool same = key.substr(key.rfind('.') + 1) == word;
      if (same && std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
    }
  };
  add("", experiment_keys());
  for (const Kind& kind : component_kinds()) {
    if (kind.name == Storage::kKind || kind.name == MetricsSink::kKind) continue;
    for (const std::string& type : kind.types) add(kind.name + ".", kind.describe(type));
  }
  return keys;
}

ExitCode list_components(const ListArguments& arguments) {
  if (arguments.figures) {
    fmt::print("{}", figures_page());
    return ExitCode::ok;
  }
  const std::vector<FailedPlugin> failed = load_plugins(arguments);
  const std::vector<Kind> chosen =
      arguments.kind.empty() ? component_kinds() : std::vector<Kind>{find_kind(arguments.kind)};
  nlohmann::json json = nlohmann::json::object();
  std::string text;
  for (const Kind& kind : chosen) {
    json[kind.name] = kind.types;
    text += fmt::format("{:<10} {}\n", kind.name, fmt::join(kind.types, ", "));
  }
  nlohmann::json plugins = nlohmann::json::array();
  for (const auto& [path, types] : types_of_plugins(chosen)) {
    plugins.push_back({{"path", path}, {"types", types}});
    text += fmt::format("  {}: {}\n", path, fmt::join(types, ", "));
  }
  for (const FailedPlugin& plugin : failed) {
    plugins.push_back({{"path", plugin.path}, {"problem", plugin.why}});
    text += fmt::format("  not loaded: {}\n", plugin.why);
  }
  json["plugins"] = std::move(plugins);
  return print_result(arguments.json, json, text, 2);
}

ExitCode describe_component(const ListArguments& arguments) {
  const std::vector<FailedPlugin> failed = load_plugins(arguments);
  if (arguments.kind.empty()) {
    const std::vector<FieldHelp> rows = experiment_keys();
    return print_result(arguments.json, to_json(rows), to_text("experiment file", rows), 2);
  }
  nlohmann::json json = nlohmann::json::object();
  std::string text;
  const std::vector<std::string> kinds = kind_names();
  if (arguments.type.empty() && std::ranges::find(kinds, arguments.kind) == kinds.end()) {
    for (const Kind& kind : kinds_with(arguments.kind)) {
      const std::vector<FieldHelp> rows = kind.describe(arguments.kind);
      json[kind.name] = to_json(rows);
      text += to_text(title_of(kind, arguments.kind), rows);
    }
    return print_result(arguments.json, json, text, 2);
  }
  const Kind kind = find_kind(arguments.kind);
  if (!arguments.type.empty()) {
    const std::vector<FieldHelp> rows = options_of(kind, arguments.type);
    return print_result(arguments.json, to_json(rows),
                        to_text(title_of(kind, arguments.type), rows), 2);
  }
  for (const std::string& type : kind.types) {
    const std::vector<FieldHelp> rows = kind.describe(type);
    json[type] = to_json(rows);
    text += to_text(title_of(kind, type), rows);
  }
  for (const FailedPlugin& plugin : failed) text += fmt::format("  not loaded: {}\n", plugin.why);
  return print_result(arguments.json, json, text, 2);
}

}  // namespace stoker
