#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "io/storage/cached/staging.h"
#include "io/storage/storage.h"

// The file behind `order: plan`: which objects to stage, by key and size, in the order in which to
// copy them. `stoker advise` writes it; whoever wants to write one by hand may. Functions: any
// thread.
//
//   {"name": "stoker staging plan", "schema_version": 1,
//    "objects": [["class/a.bin", 1048576], ["class/b.bin", 3]], "bytes": 1048579, ...}
//
// `bytes` is the sum of the objects'. Further members say how the plan came about; they do not
// decide anything.

namespace stoker {

// The text of such a file. facts: its further members, an object or null.
std::string plan_json(const StagingPlan& plan, const nlohmann::ordered_json& facts);

// Error(ExitCode::config) if the text is not a plan: not JSON, another version, a member that is
// missing or of another kind, a key that is not valid or is there twice, sizes that do not add up.
StagingPlan parse_plan(std::string_view text);
// The same of a file, which the message names; ExitCode::environment where it is missing.
StagingPlan read_plan(const std::string& path);

// Error(ExitCode::config) where an object of the plan is not in the listing (sorted by key), or has
// another size there: it was made of other objects. path: the plan's, for the message.
void check_plan(const StagingPlan& plan, const std::vector<ObjectInfo>& listing,
                const std::string& path);

}  // namespace stoker
