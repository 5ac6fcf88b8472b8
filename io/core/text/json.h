#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "io/core/config/node.h"

namespace stoker {

// JSON to text and back, for the whole program: nlohmann's printer and parser take a compiler 2 to
// 5 s wherever they are used. Any thread.

// indent: spaces a level; below 0, all in one line. A string that is not UTF-8 is printed as
// to_text() makes it.
std::string json_text(const nlohmann::json& value, int indent = -1);
std::string json_text(const nlohmann::ordered_json& value, int indent = -1);

// nlohmann::json::parse_error if the text is not JSON.
nlohmann::json parse_json(std::string_view text);
// Nothing if the text is not JSON.
std::optional<nlohmann::json> try_parse_json(std::string_view text);

// So that a small text cannot ask for much memory or stack.
struct JsonLimits {
  int depth;
  uint64_t values;
  bool fractions = true;  // numbers may be others than whole ones of 64 bits
};
// More than any file has that the program itself writes of a run or a sweep.
inline constexpr JsonLimits kOwnFiles{64, 50'000'000};
// Error(ExitCode::data) if the text is not JSON, or is beyond the limits.
nlohmann::json parse_json(std::string_view text, JsonLimits limits);

// A whole number of 63 bits and a sign; nothing for all else. Its own conversion of 1e300 is
// undefined.
std::optional<int64_t> find_whole_number(const nlohmann::json& value);
// The same; nlohmann::json::type_error for all else.
int64_t whole_number(const nlohmann::json& value);

// A member by its dotted path, as figures are named: "device.idle_s.data". Null if the tree has no
// such member; iterating over null visits nothing. Valid as long as `tree` lives. A name with a dot
// in it, as a tier's may be, cannot be part of a path: take the object that holds it, and use
// find().
const nlohmann::json& member_at(const nlohmann::json& tree, std::string_view path);
// The same for figures, all of which are numbers. Nothing also for what is no number: an older run,
// or one without checkpoints, lacks some.
std::optional<double> number_at(const nlohmann::json& tree, std::string_view path);

// A configuration as JSON: plain scalars become booleans and numbers where they are such, and text
// where they are quoted. Keys lose their order.
nlohmann::json to_json(const Node& node);

}  // namespace stoker
