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

TEST(ResultTable, words_and_notes_have_escapes) {
  ResultTable table({{"name", "name"}, {"size", "size"}});
  table.add({"a\x1b[2J\nb", int64_t{1}});
  table.note("c\x07");
  EXPECT_EQ(table.text(),
            "name           size\n"
            "a\\x1b[2J\\x0ab     1\n"
            "    c\\x07\n");
  EXPECT_EQ(table.json()[0]["name"], "a\x1b[2J\nb");
}

TEST(ResultTable, gives_the_same_rows_as_json_in_the_units_of_their_names) {
  EXPECT_EQ(example().json(), nlohmann::json::parse(
                                  R"([{"name": "one", "share": 0.5, "bytes": 7,
                     "rate": {"min": 9.0, "median": 10.0, "p99": 12.0, "max": 11.0}},
                    {"name": "another"}])"));
}

ResultTable record() {
  ResultTable figures;
  figures.put({"rate", "images/s", 1}, 10.0);
  figures.put({"share/of_time", "share %", 0, 100}, 0.5);
  figures.put({"share/of_bytes", "absent"}, {});
  figures.put({"threads", ""}, int64_t{2});
  return figures;
}

TEST(ResultTable, a_record_has_a_line_for_each_figure_that_there_is) {
  EXPECT_EQ(record().record_text(2),
            "  images/s  10.0\n"
            "  share %   50\n");
}

TEST(ResultTable, a_record_is_an_object_with_objects_in_it) {
  EXPECT_EQ(record().record_json(),
            nlohmann::json::parse(R"({"rate": 10.0, "share": {"of_time": 0.5}, "threads": 2})"));
}

}  // namespace
}  // namespace stoker
