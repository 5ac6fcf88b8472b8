#include "io/storage/cached/plan_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>

#include "io/core/error.h"
#include "io/core/system/file.h"
#include "io/core/text/json.h"

namespace stoker {
namespace {

using Json = nlohmann::json;

constexpr const char* kPlanName = "stoker staging plan";
constexpr int64_t kPlanVersion = 1;
constexpr JsonLimits kPlanLimits{16, 30'000'000};
constexpr size_t kMostPlanBytes = size_t{1} << 30;

[[noreturn]] void refuse_plan(const std::string& why) { throw Error(ExitCode::config, why); }

// A member of this name; a whole number that is not below 0.
uint64_t size_of(const Json& value, const char* what) {
  const int64_t size = find_whole_number(value).value_or(-1);
  if (size < 0) refuse_plan(fmt::format("{} is no number of bytes", what));
  return static_cast<uint64_t>(size);
}

void check_head(const Json& json) {
  const auto member = [&](const char* name) {
    return json.is_object() && json.contains(name) ? json.at(name) : Json();
  };
  if (member("name") != kPlanName) {
    refuse_plan(fmt::format("is no staging plan: there is no \"name\": \"{}\"", kPlanName));
  }
  if (member("schema_version") != kPlanVersion) {
    refuse_plan(fmt::format("is a plan of another version; this program reads schema_version {}",
                            kPlanVersion));
  }
  if (!member("objects").is_array()) refuse_plan("has no list of objects");
}

ObjectInfo object_of(const Json& row) {
  if (!row.is_array() || row.size() != 2 || !row[0].is_string()) {
    refuse_plan("has an object that is no [key, bytes]");
  }
  ObjectInfo object{row[0].get<std::string>(), size_of(row[1], "the second part of an object")};
  try {
    check_key(object.key);
  } catch (const IoError& error) {
    refuse_plan(std::string("has an object whose key is not valid: ") + error.what());
  }
  return object;
}

}  // namespace

std::string plan_json(const StagingPlan& plan, const nlohmann::ordered_json& facts) {
  nlohmann::ordered_json json = {
      {"name", kPlanName}, {"schema_version", kPlanVersion}, {"bytes", plan.bytes}};
  if (!facts.is_null()) json.update(facts);
  // The objects last, a line each: a file that people can look at and compare.
  std::string text = json_text(json, 1);
  text.resize(text.size() - 2);  // "\n}"
  text += ",\n \"objects\": [";
  for (const ObjectInfo& object : plan.objects) {
    text += fmt::format("{}\n  {}", &object == plan.objects.data() ? "" : ",",
                        json_text(Json{object.key, object.bytes}));
  }
  return text + (plan.objects.empty() ? "]\n}\n" : "\n ]\n}\n");
}

StagingPlan parse_plan(std::string_view text) {
  std::optional<Json> json;
  try {
    json = parse_json(text, kPlanLimits);
  } catch (const Error& error) {
    refuse_plan(error.what());
  }
  check_head(*json);
  StagingPlan plan;
  std::unordered_set<std::string> keys;
  for (const Json& row : json->at("objects")) {
    ObjectInfo object = object_of(row);
    if (!keys.insert(object.key).second) refuse_plan("names '" + object.key + "' twice");
    if (object.bytes > UINT64_MAX - plan.bytes) refuse_plan("has sizes that no tier can hold");
    plan.bytes += object.bytes;
    plan.objects.push_back(std::move(object));
  }
  if (!json->contains("bytes") || size_of(json->at("bytes"), "\"bytes\"") != plan.bytes) {
    refuse_plan(fmt::format("is damaged: \"bytes\" is not {}, the sum of its objects", plan.bytes));
  }
  return plan;
}

StagingPlan read_plan(const std::string& path) {
  const std::optional<std::string> text = read_if_there(path, kMostPlanBytes, Readable::streams);
  if (!text) {
    throw Error(ExitCode::environment,
                path + ": there is no such plan: `stoker advise` writes one");
  }
  if (text->size() == kMostPlanBytes) refuse_plan(path + ": is too large for a plan");
  try {
    return parse_plan(*text);
  } catch (const Error& error) {
    refuse_plan(path + ": " + error.what());
  }
}

void check_plan(const StagingPlan& plan, const std::vector<ObjectInfo>& listing,
                const std::string& path) {
  constexpr const char* kAgain = "it was made of other objects; `stoker advise` makes a new one";
  for (const ObjectInfo& object : plan.objects) {
    const auto there = std::ranges::lower_bound(listing, object.key, {}, &ObjectInfo::key);
    if (there == listing.end() || there->key != object.key) {
      refuse_plan(fmt::format("{}: the tier has no object '{}' of this plan: {}", path, object.key,
                              kAgain));
    }
    if (there->bytes != object.bytes) {
      refuse_plan(fmt::format("{}: '{}' has {} bytes, and by this plan {}: {}", path, object.key,
                              there->bytes, object.bytes, kAgain));
    }
  }
}

}  // namespace stoker
