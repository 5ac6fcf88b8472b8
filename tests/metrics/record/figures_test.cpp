#include "io/metrics/record/figures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string_view>

namespace stoker {
namespace {

std::string prometheus(std::string_view name) {
  return prometheus_name(*select_figures({name}).front());
}

TEST(Figures, the_name_in_prometheus_follows_from_name_unit_and_kind) {
  EXPECT_EQ(prometheus("images"), "stoker_images_total");
  EXPECT_EQ(prometheus("device.idle_s.{cause}"), "stoker_device_idle_seconds_total");
  EXPECT_EQ(prometheus("closure_error"), "stoker_closure_error_ratio");
  EXPECT_EQ(prometheus("checkpoints.last_save_unix_s"),
            "stoker_checkpoints_last_save_timestamp_seconds");
  EXPECT_EQ(prometheus("tiers.{tier}.{op}.duration_s"), "stoker_tiers_duration_seconds");
  EXPECT_EQ(prometheus("process.cpu_s"), "process_cpu_seconds_total");
  EXPECT_EQ(prometheus("exposed_io_share"), "");               // Prometheus divides itself
  EXPECT_EQ(prometheus("io_share"), "stoker_io_share_ratio");  // but for these two
  EXPECT_EQ(prometheus("device.idle_share"), "stoker_device_idle_ratio");
}

TEST(Figures, every_one_has_names_of_its_own_and_says_what_it_is_and_how_it_is_measured) {
  std::set<std::string> names;
  std::set<std::string> exported;
  for (const Figure& figure : figures()) {
    EXPECT_TRUE(names.insert(figure.name).second) << figure.name;
    const std::string name = prometheus_name(figure);
    EXPECT_TRUE(name.empty() || exported.insert(name).second) << name;
    for (const std::string_view text : {figure.definition, figure.measured}) {
      EXPECT_TRUE(text.ends_with('.')) << figure.name << ": " << text;
    }
  }
}

// The unit that the table says is the one that the name says.
TEST(Figures, a_name_that_ends_with_a_unit_has_it) {
  const std::map<std::string_view, Unit> endings{{"_unix_s", Unit::unix_time},
                                                 {"_mb_per_s", Unit::mb_per_s},
                                                 {"_per_s", Unit::per_s},
                                                 {"_bytes", Unit::bytes},
                                                 {"_share", Unit::share}};
  for (const Figure& figure : figures()) {
    std::string_view name = figure.name;
    while (name.ends_with('}')) name = name.substr(0, name.rfind('.'));
    for (const auto& [ending, unit] : endings) {
      if (!name.ends_with(ending)) continue;
      if (ending == "_per_s" && name.ends_with("mb_per_s")) continue;
      EXPECT_EQ(figure.unit, unit) << figure.name;
    }
  }
}

TEST(Figures, nothing_measured_is_nothing_said) {
  for (const Figure& figure : figures()) {
    if (figure.kind != FigureKind::quotient) continue;
    for (const FigureValue& value : figure.read(RunRecord())) {
      EXPECT_FALSE(value.value) << figure.name;
    }
  }
}

TEST(Figures, a_column_is_found_by_its_place) {
  ASSERT_NE(find_figure("segments_s.compute"), nullptr);
  EXPECT_STREQ(find_figure("segments_s.compute")->name, "segments_s.{segment}");
  EXPECT_EQ(find_figure("segments_s"), nullptr);
  EXPECT_THROW(select_figures({"speed"}), std::logic_error);
}

}  // namespace
}  // namespace stoker
