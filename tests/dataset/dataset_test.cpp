#include "io/dataset/dataset.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/registered.h"

namespace stoker {
namespace {

OnError parse(const std::string& yaml) {
  const Node node = parse_yaml(yaml, "test.yaml");
  OnError result;
  read_struct(Section(node, "dataset", "on_error", nullptr), result);
  return result;
}

int64_t allowed(const std::string& budget, int64_t samples) {
  return parse("{policy: skip, budget: " + budget + "}").budget.of(samples);
}

std::string refused(const std::string& yaml) {
  return error_of([&] { parse(yaml); });
}

TEST(Budget, is_a_count_or_a_share) {
  EXPECT_EQ(allowed("10", 1'000'000), 10);
  EXPECT_EQ(allowed("0", 100), 0);
  EXPECT_EQ(allowed("0.1%", 3'000), 3);
  EXPECT_EQ(allowed("0.1%", 3'999), 3);
  EXPECT_EQ(allowed("0.1%", 999), 0);
  EXPECT_EQ(allowed("100%", 42), 42);
}

TEST(Budget, refuses_what_is_neither) {
  for (const std::string text :
       {"ten", "-1", "1.5", "0x10", "1e3", "5 %", "101%", "%", "nan", "+1", "10%%", "-0.1%"}) {
    EXPECT_EQ(refused("{budget: '" + text + "'}"),
              "test.yaml:1:10: dataset.on_error: 'budget' must be a count or a percentage such as "
              "0.1%, got '" +
                  text + "'");
  }
}

TEST(OnError, is_written_as_it_was_read) {
  EXPECT_EQ(to_yaml(dump_struct(parse("{}"))), "policy: fail\nbudget: 10");
  EXPECT_EQ(to_yaml(dump_struct(parse("{policy: skip, budget: 0.1%}"))),
            "policy: skip\nbudget: 0.1%");
}

TEST(OnError, names_the_policies) {
  EXPECT_EQ(refused("{policy: ignore}"),
            "test.yaml:1:10: dataset.on_error: 'policy' must be one of fail, skip, got 'ignore'");
}

TEST(Dataset, the_registered_formats_are_known) {
  EXPECT_EQ(registered_types<Dataset>(),
            (std::vector<std::string>{"decoded", "file_list", "hdf5", "image_folder",
                                      "indexed_binary", "lmdb", "packed", "parquet", "synthetic",
                                      "tar_shards", "tfrecord"}));
}

}  // namespace
}  // namespace stoker
