#include "app/tools/advise/cost_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "io/core/text/json.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

Component<Storage> tier_of(const std::string& yaml) {
  return parse_component<Storage>(parse_yaml(yaml, "test.yaml"));
}

// As `stoker bench storage --fit --json` prints it.
nlohmann::json fit_output() {
  return {{"name", "stoker-storage"},
          {"through", "files"},
          {"yaml",
           "{type: emulated, read_mb_per_s: 100, write_mb_per_s: 50, read_latency_ms: 2, "
           "metadata_latency_ms: 1, seek_ms: 8, queue_depth: 2, inner: {type: posix, root: "
           "DIRECTORY}}"},
          {"points",
           {{{"op", "read"}, {"iops", 100.0}, {"predicted_iops", 105.0}},
            {{"op", "read"}, {"iops", 100.0}, {"predicted_iops", 100.0 / 1.05}},
            {{"op", "write"}, {"iops", 100.0}, {"predicted_iops", 1.0}}}}};
}

TEST(CostModel, of_an_emulated_tier_are_its_own_figures) {
  const TierCostModel model =
      cost_model(tier_of("{type: emulated, profile: hdd, inner: {type: memory}}"), "t", "", "-");
  EXPECT_DOUBLE_EQ(model.costs.read_bytes_per_s, 163e6);
  EXPECT_DOUBLE_EQ(model.costs.queue_depth, 2.118);
  EXPECT_EQ(model.open, Clock::duration{});
  EXPECT_GT(model.error, 0);
}

TEST(CostModel, of_a_fit_has_the_residuals_of_its_reads) {
  const TemporaryDirectory directory;
  nlohmann::json output = fit_output();
  directory.write("fit.json", json_text(output));
  const auto model = [&] {
    return cost_model(tier_of("{type: posix, root: /data}"), "t", directory / "fit.json", "-");
  };
  EXPECT_DOUBLE_EQ(model().costs.read_bytes_per_s, 100e6);
  EXPECT_EQ(model().open, std::chrono::milliseconds(1));
  EXPECT_NEAR(model().error, 1.05 * 1.05 - 1, 1e-9);
  output["through"] = "objects";  // opened in each read
  directory.write("fit.json", json_text(output));
  EXPECT_EQ(model().open, Clock::duration{});
}

TEST(CostModel, what_is_not_known_is_said_with_what_to_do) {
  const auto of = [](const std::string& yaml, const std::string& fit = "") {
    return error_of([&] { cost_model(tier_of(yaml), "the slow tier", fit, "--slow-fit"); });
  };
  const std::string posix = "{type: posix, root: /data}";
  EXPECT_NE(of(posix).find("the slow tier (type posix)"), std::string::npos);
  EXPECT_NE(of(posix).find("--fit --json > FILE, then --slow-fit FILE"), std::string::npos);
  EXPECT_NE(of(posix, "/nowhere/fit.json").find("there is no such file"), std::string::npos);
  EXPECT_GT(cost_model(tier_of("{type: memory}"), "t", "", "-").costs.read_bytes_per_s, 1e11);
}

TEST(CostModel, a_file_that_is_no_fit_is_refused) {
  const TemporaryDirectory directory;
  const auto refused = [&](const std::string& text) {
    directory.write("fit.json", text);
    const auto read = [&] {
      cost_model(tier_of("{type: memory}"), "t", directory / "fit.json", "-");
    };
    EXPECT_EQ(code_of(read), ExitCode::data) << text;
  };
  refused("no JSON");
  refused("[]");
  refused("{\"yaml\": 5}");
  nlohmann::json output = fit_output();
  for (const char* yaml : {"{type: posix, root: a}", "{type: emulated", "{type: cached}"}) {
    output["yaml"] = yaml;
    refused(json_text(output));
  }
  output = fit_output();
  output["points"][0]["iops"] = 0;
  refused(json_text(output));
  output["points"] = nlohmann::json::array();
  refused(json_text(output));
}

}  // namespace
}  // namespace stoker
