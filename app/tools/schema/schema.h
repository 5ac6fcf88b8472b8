#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "io/core/config/config.h"
#include "io/core/error.h"

namespace stoker {

// JSON Schema (draft 7) of what a file of this program may hold, for editors: they complete keys
// and values with it, and show help texts. It comes from what `stoker describe` says and knows no
// more: relations between two keys are what `stoker check` is for.

// What may stand at an option of which `stoker describe` says this type: "integer from 1 to 8",
// "a|b|c", "list of {type: <sink>, ...}". A type that is not known may be any scalar. Pure.
nlohmann::json type_schema(const std::string& type);

// An object with these options, in which no other keys may stand. "a.b" is `b` in an object `a`.
// Options that stand there several times, as those of several components do, may be any of them.
nlohmann::json object_schema(const std::vector<FieldHelp>& rows);

// The schemas of an experiment and of a sweep, with the components that are loaded by now.
nlohmann::json experiment_schema();
nlohmann::json sweep_schema();

// What `stoker schema` is asked for. A value.
struct SchemaArguments {
  std::string of = "experiment";  // or "sweep"
};

// `stoker schema`: prints a schema, with the plug-ins that lie beside the library. Error(config)
// for another word.
ExitCode print_schema(const SchemaArguments& arguments);

}  // namespace stoker
