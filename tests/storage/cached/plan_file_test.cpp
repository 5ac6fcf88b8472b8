#include "io/storage/cached/plan_file.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "io/core/text/json.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

const StagingPlan kPlan{{{"b/\"x\".jpg", 30}, {"a.jpg", 0}, {"c\\x80.jpg", 12}}, 42};

std::string plan_keys(const StagingPlan& plan) {
  std::string text;
  for (const ObjectInfo& object : plan.objects) {
    text += object.key + " " + std::to_string(object.bytes) + "\n";
  }
  return text;
}

// The text of kPlan with one member replaced.
std::string with_member(const char* name, const nlohmann::json& value) {
  nlohmann::json json = parse_json(plan_json(kPlan, {}));
  json[name] = value;
  return json_text(json);
}

TEST(PlanFile, what_is_written_is_read_as_the_same_in_its_order) {
  const StagingPlan read = parse_plan(plan_json(kPlan, {{"predicted", {{"epoch_s", 1.5}}}}));
  EXPECT_EQ(plan_keys(read), plan_keys(kPlan));
  EXPECT_EQ(read.bytes, 42u);
  EXPECT_EQ(parse_plan(plan_json({}, {})).objects.size(), 0u);
}

TEST(PlanFile, facts_stand_beside_the_objects) {
  const auto json = parse_json(plan_json(kPlan, {{"predicted", {{"epoch_s", 1.5}}}}));
  EXPECT_EQ(json.at("predicted").at("epoch_s"), 1.5);
  EXPECT_EQ(json.at("schema_version"), 1);
  EXPECT_EQ(json.at("objects").size(), 3u);
}

TEST(PlanFile, what_is_no_plan_is_refused_by_what_is_wrong) {
  const auto refused = [](const std::string& text) {
    EXPECT_EQ(code_of([&] { parse_plan(text); }), ExitCode::config) << text;
    return error_of([&] { parse_plan(text); });
  };
  EXPECT_NE(refused("{\"name\": ").find("JSON"), std::string::npos);
  EXPECT_NE(refused("[]").find("is no staging plan"), std::string::npos);
  EXPECT_NE(refused("{\"tier\": 1}").find("is no staging plan"), std::string::npos);
  EXPECT_NE(refused(with_member("schema_version", 2)).find("another version"), std::string::npos);
  EXPECT_NE(refused(with_member("objects", "all")).find("no list of objects"), std::string::npos);
  EXPECT_NE(refused(with_member("bytes", 41)).find("is not 42"), std::string::npos);
  using Json = nlohmann::json;
  for (const Json& row : {Json{"a"}, Json{1, 2}, Json("a"), Json{"a", 1, 2}}) {
    EXPECT_NE(refused(with_member("objects", Json::array({row}))).find("no [key, bytes]"),
              std::string::npos);
  }
  for (const Json& bytes : {Json(-1), Json(1.5), Json("1"), Json()}) {
    const Json row = Json::array({"a", bytes});
    EXPECT_NE(refused(with_member("objects", Json::array({row}))).find("no number of bytes"),
              std::string::npos);
  }
  for (const char* key : {"../secret", "/etc/passwd", "a//b", ""}) {
    const Json row = Json::array({key, 1});
    EXPECT_NE(refused(with_member("objects", Json::array({row}))).find("whose key is not valid"),
              std::string::npos);
  }
  const Json twice = Json::array({Json::array({"a", 1}), Json::array({"a", 1})});
  EXPECT_NE(refused(with_member("objects", twice)).find("'a' twice"), std::string::npos);
  Json huge = Json::array();
  for (const char* key : {"a", "b", "c"}) huge.push_back(Json::array({key, INT64_MAX}));
  EXPECT_NE(refused(with_member("objects", huge)).find("no tier can hold"), std::string::npos);
}

TEST(PlanFile, a_message_names_the_file) {
  const TemporaryDirectory directory;
  const std::string path = directory / "plan.json";
  EXPECT_EQ(code_of([&] { read_plan(path); }), ExitCode::environment);
  EXPECT_NE(error_of([&] { read_plan(path); }).find("`stoker advise` writes one"),
            std::string::npos);
  directory.write("plan.json", "no plan");
  EXPECT_EQ(error_of([&] { read_plan(path); }).find(path), 0u);
  directory.write("plan.json", plan_json(kPlan, {}));
  EXPECT_EQ(read_plan(path).bytes, 42u);
}

TEST(PlanFile, a_plan_of_other_objects_is_stale) {
  const std::vector<ObjectInfo> listing{
      {"a.jpg", 0}, {"b/\"x\".jpg", 30}, {"c\\x80.jpg", 12}, {"d", 1}};
  check_plan(kPlan, listing, "plan.json");
  std::vector<ObjectInfo> other = listing;
  other[1].bytes = 31;
  EXPECT_EQ(error_of([&] { check_plan(kPlan, other, "plan.json"); }),
            "plan.json: 'b/\"x\".jpg' has 31 bytes, and by this plan 30: it was made of other "
            "objects; `stoker advise` makes a new one");
  other.erase(other.begin());
  other[0].bytes = 30;
  EXPECT_EQ(error_of([&] { check_plan(kPlan, other, "plan.json"); }),
            "plan.json: the tier has no object 'a.jpg' of this plan: it was made of other objects; "
            "`stoker advise` makes a new one");
}

}  // namespace
}  // namespace stoker
