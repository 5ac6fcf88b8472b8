#include "app/tools/schema/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/commands/listing.h"
#include "app/tools/sweep/sweep_options.h"
#include "io/core/config/plugin.h"
#include "io/core/text/json.h"

namespace stoker {
namespace {

using nlohmann::json;

json object() {
  return {{"type", "object"}, {"properties", json::object()}, {"additionalProperties", false}};
}

json option_schema(const FieldHelp& row) {
  json out = type_schema(row.type);
  if (out.contains("$ref")) out = {{"allOf", {out}}};  // nothing may stand beside a reference
  out["description"] = row.help;
  const bool known = !row.required && row.fallback != "absent" && !row.fallback.empty();
  if (known && row.fallback.find('\n') == std::string::npos && row.type != "mapping" &&
      !row.type.starts_with("{type:")) {
    out["default"] = to_json(parse_yaml("value: " + row.fallback, "default")).at("value");
  }
  return out;
}

// Another thing that may stand at the same place.
void add_choice(json& place, const json& other) {
  if (place.is_null() || place == other) {
    place = other;
  } else if (place.contains("anyOf") && !place.contains("description")) {
    if (std::ranges::find(place["anyOf"], other) == place["anyOf"].end()) {
      place["anyOf"].push_back(other);
    }
  } else {
    place = {{"anyOf", {place, other}}};
  }
}

void add_option(json& parent, const std::string& key, const FieldHelp& row) {
  const size_t dot = key.find('.');
  json& place = parent["properties"][key.substr(0, dot)];
  if (dot == std::string::npos) {
    if (row.type == "mapping") {  // its options are rows of their own, which come after it
      if (!place.contains("properties")) place = object();
      place["description"] = row.help;
    } else {
      add_choice(place, option_schema(row));
    }
    return;
  }
  if (!place.contains("properties")) place = object();
  add_option(place, key.substr(dot + 1), row);
}

json component_schema(const ComponentKind& kind) {
  std::vector<FieldHelp> rows;
  for (const std::string& type : kind.types) {
    for (FieldHelp& row : kind.describe(type)) rows.push_back(std::move(row));
  }
  json out = object_schema(rows);
  out["properties"]["type"] = {{"enum", kind.types},
                               {"description", "The type of the " + kind.name}};
  return out;
}

json definitions() {
  json out = json::object();
  for (const ComponentKind& kind : component_kinds()) out[kind.name] = component_schema(kind);
  out["experiment"] = object_schema(experiment_keys());
  return out;
}

template <class T>
void items_of(json& schema, const char* key) {
  schema["properties"][key]["items"] = object_schema(describe_struct<T>());
}

json titled(const char* title, json schema) {
  schema["$schema"] = "http://json-schema.org/draft-07/schema#";
  schema["title"] = title;
  schema["definitions"] = definitions();
  return schema;
}

}  // namespace

json object_schema(const std::vector<FieldHelp>& rows) {
  json out = object();
  for (const FieldHelp& row : rows) add_option(out, row.key, row);
  return out;
}

json experiment_schema() {
  return titled("An experiment of stoker", {{"$ref", "#/definitions/experiment"}});
}

json sweep_schema() {
  json schema = object_schema(describe_struct<SweepOptions>());
  items_of<SweepPreparation>(schema, "prepare");
  schema["properties"]["mounts"]["additionalProperties"] =
      object_schema(describe_struct<SweepMount>());
  items_of<PlotOptions>(schema, "plots");
  items_of<PublishedSeries>(schema["properties"]["plots"]["items"], "published");
  items_of<FindingOptions>(schema, "findings");
  schema["required"] = {"name", "base", "matrix"};
  return titled("A sweep of stoker", std::move(schema));
}

ExitCode print_schema(const SchemaArguments& arguments) {
  if (arguments.of != "experiment" && arguments.of != "sweep") {
    throw Error(ExitCode::config, "schema: must be experiment or sweep, got '" + arguments.of +
                                      "'" + suggestion(arguments.of, {"experiment", "sweep"}));
  }
  load_all_plugins();
  fmt::print("{}\n", json_text(arguments.of == "sweep" ? sweep_schema() : experiment_schema(), 1));
  return ExitCode::ok;
}

}  // namespace stoker
