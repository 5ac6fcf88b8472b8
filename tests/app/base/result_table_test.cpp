#include "app/base/result_table.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace stoker {
namespace {

ResultTable example() {
  ResultTable table({{"name", "name"},
                     {"rate", "images/s (min max)", 1},
                     {"share", "of all %", 1, 100},
                     {"bytes", ""},
                     {"", "only here"}});
  table.add({"one", Spread{9, 10, 12, 11}, 0.5, int64_t{7}, int64_t{1}});
  table.note("look here");
  table.add({"another", {}, std::optional<double>(), {}, true});
  return table;
}

TEST(ResultTable, aligns_words_to_the_left_and_figures_to_the_right) {
  EXPECT_EQ(example().text(2),
            "  name     images/s (min max)  of all %  only here\n"
            "  one        10.0 ( 9.0 11.0)      50.0          1\n"
            "      look here\n"
            "  another                   -         -        yes\n");
}

TEST(ResultTable, gives_the_same_rows_as_json_in_the_units_of_their_names) {
  EXPECT_EQ(example().json(), nlohmann::json::parse(
                                  R"([{"name": "one", "share": 0.5, "bytes": 7,
                     "rate": {"min": 9.0, "median": 10.0, "p99": 12.0, "max": 11.0}},
                    {"name": "another"}])"));
}

}  // namespace
}  // namespace stoker
