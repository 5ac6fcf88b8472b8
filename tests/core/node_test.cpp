#include "io/core/config/node.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>

#include "io/core/error.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

std::string parse_error(const std::string& text) {
  return error_of([&] { parse_yaml(text, "t.yaml"); });
}

TEST(Node, keeps_order_and_positions) {
  const Node root = parse_yaml("b: 1\na:\n  - x\n  - {y: 2}\n", "t.yaml");
  ASSERT_EQ(root.entries.size(), 2u);
  EXPECT_EQ(root.entries[0].key, "b");
  EXPECT_EQ(root.entries[1].at.text(), "t.yaml:2:1");
  EXPECT_EQ(root.find("a")->items[1].find("y")->at.text(), "t.yaml:4:9");
}

TEST(Word, is_destroyed_once_where_what_stands_beside_it_throws) {
  struct Pair {
    Word first;
    std::string second;
  };
  const auto throws = []() -> std::string { throw std::runtime_error("beside it"); };
  const auto source = std::make_shared<const std::string>("file");
  const Position here{source, 1, 1};
  EXPECT_THROW((void)(Pair{{"a", here}, throws()}), std::runtime_error);
  EXPECT_EQ(source.use_count(), 2);
}

TEST(Node, an_empty_document_is_an_empty_mapping) {
  EXPECT_EQ(parse_yaml("", "t.yaml").kind, Node::Kind::mapping);
  EXPECT_EQ(parse_yaml("# only a comment\n", "t.yaml").kind, Node::Kind::mapping);
  EXPECT_EQ(parse_yaml("", "t.yaml").at.text(), "t.yaml:1:1");
}

TEST(Node, a_character_that_is_none_is_an_error) {
  EXPECT_EQ(parse_error("a: \"\\uFFFE\"\n"),
            "t.yaml:1:4: a character that is not valid (such as U+FFFE)");
}

TEST(Node, a_tab_is_named_where_it_stands) {
  const std::string what = ": a tab stands here: YAML takes spaces only before a line's text";
  EXPECT_EQ(parse_error("run:\n\tname: x\n"), "t.yaml:2:1" + what);
  EXPECT_EQ(parse_error("run:\n  name: x\n  \tdir: y\n"), "t.yaml:3:3" + what);
  EXPECT_EQ(parse_error("a:\n  - 1\n\t- 2\n"), "t.yaml:3:1" + what);
  EXPECT_EQ(parse_yaml("a:\t1\nb: {c: 1,\n\td: 2}\n", "t.yaml").find("b")->entries.size(), 2u);
}

TEST(Node, a_quoted_number_is_text) {
  const Node root = parse_yaml("a: \"8\"\nb: 8\n", "t.yaml");
  EXPECT_TRUE(root.find("a")->quoted);
  EXPECT_FALSE(root.find("b")->quoted);
}

TEST(Node, duplicate_keys_are_an_error) {
  EXPECT_EQ(parse_error("a: 1\nb: 2\na: 3\n"), "t.yaml:3:1: key 'a' is given twice");
}

TEST(Node, anchors_aliases_and_tags_are_errors) {
  EXPECT_EQ(parse_error("a: &x 1\n"),
            "t.yaml:1:4: anchors (&name) are not accepted: write the value out");
  EXPECT_EQ(parse_error("a: &x {b: 1}\nc: *x\n"),
            "t.yaml:1:4: anchors (&name) are not accepted: write the value out");
  EXPECT_EQ(parse_error("a: !!python/object x\n"),
            "t.yaml:1:4: tags (tag:yaml.org,2002:python/object) are not accepted");
}

TEST(Node, broken_yaml_names_the_place) {
  EXPECT_EQ(parse_error("a: [1, 2\nb: 3\n"),
            "t.yaml:2:2: this is no YAML: end of sequence flow not found");
}

TEST(Node, a_second_document_is_an_error) {
  EXPECT_EQ(parse_error("a: 1\n---\nb: 2\n"),
            "t.yaml:3:1: a second document: write one configuration per file");
}

TEST(Node, size_depth_and_number_of_values_are_limited) {
  EXPECT_EQ(parse_error(std::string((1 << 20) + 1, ' ')), "t.yaml:1:1: larger than 1 MiB");
  EXPECT_EQ(parse_error(std::string(40, '[') + std::string(40, ']')),
            "t.yaml:1:33: nested deeper than 32 levels");
  std::string many = "[";
  for (int i = 0; i < 10001; ++i) many += "1,";
  EXPECT_EQ(parse_error(many + "1]"), "t.yaml:1:20002: more than 10000 values");
}

TEST(Node, a_missing_file_is_an_error_of_the_environment) {
  const TemporaryDirectory directory;
  directory.write("configs/quickstart.yaml", "");
  const std::string there = directory.path();
  const auto load = [&](const std::string& path) { load_yaml(there + path); };
  EXPECT_EQ(code_of([&] { load("/config/quickstart.yaml"); }), ExitCode::environment);
  EXPECT_EQ(error_of([&] { load("/config/quickstart.yaml"); }),
            there + "/config/quickstart.yaml: there is no 'config' in " + there +
                " (did you mean 'configs'?)");
  EXPECT_EQ(error_of([&] { load("/xyz.yaml"); }),
            there + "/xyz.yaml: there is no 'xyz.yaml' in " + there);
}

TEST(Node, overrides_set_nested_values_and_make_mappings) {
  Node root = parse_yaml("loader: {workers: 1}\nsinks: [{type: csv}]\n", "t.yaml");
  apply_override(root, "loader.workers=4");
  apply_override(root, "new.deep.key={type: adam}");
  apply_override(root, "sinks.0.type=console");
  EXPECT_EQ(root.find("loader")->find("workers")->scalar, "4");
  EXPECT_EQ(root.find("new")->find("deep")->find("key")->find("type")->scalar, "adam");
  EXPECT_EQ(root.find("sinks")->items[0].find("type")->scalar, "console");
  EXPECT_EQ(root.find("loader")->find("workers")->at.text(), "override 'loader.workers=4'");
}

TEST(Node, nothing_is_a_value_of_an_override) {
  for (const char* nothing : {"a.b=", "a.b= ", "a.b=~", "a.b=null"}) {
    Node root;
    apply_override(root, nothing);
    EXPECT_EQ(root.find("a")->find("b")->kind, Node::Kind::null) << nothing;
    EXPECT_EQ(root.find("a")->find("b")->at.text(), std::string("override '") + nothing + "'");
  }
}

TEST(Node, an_override_of_a_file_has_its_places) {
  const Position path = parse_yaml("\n  b: c\n", "t.yaml").entries.front().at;
  const Position value = parse_yaml("b: c\n", "t.yaml").find("b")->at;
  Node root;
  apply_override(root, {"a.b=c", path, value});
  EXPECT_EQ(root.entries.front().at.text(), "t.yaml:2:3: override 'a.b=c'");
  EXPECT_EQ(root.find("a")->find("b")->at.text(), "t.yaml:1:4: override 'a.b=c'");
}

TEST(Node, bad_overrides_are_errors) {
  Node root = parse_yaml("loader: {workers: 1}\nsinks: [1]\n", "t.yaml");
  const auto error = [&](const char* text) {
    return error_of([&] { apply_override(root, text); });
  };
  EXPECT_EQ(error("loader"), "override 'loader': must look like a.b=value");
  EXPECT_EQ(error("=1"), "override '=1': must look like a.b=value");
  EXPECT_EQ(error("loader.workers.x=1"),
            "override 'loader.workers.x=1': 'x' lies under a value that is no mapping");
  EXPECT_EQ(error("sinks.1=2"),
            "override 'sinks.1=2': '1' is no place in a list of 1: they count from 0");
  EXPECT_EQ(error("loader.=2"), "override 'loader.=2': must look like a.b=value");
  EXPECT_EQ(error("loader..x=2"),
            "override 'loader..x=2': must look like a.b=value: two points follow each other");
  EXPECT_EQ(error("loader={a: 1"),
            "override 'loader={a: 1': this is no YAML: end of map flow not found");
}

TEST(Node, yaml_text_reads_back_as_the_same_tree) {
  const std::string text = "a: \"8\"\nb: [1, x, {c: d}]\ne:\n  f: \"\"\n  g: ~\n";
  const std::string once = to_yaml(parse_yaml(text, "t.yaml"));
  EXPECT_EQ(to_yaml(parse_yaml(once, "u.yaml")), once);
}

TEST(Node, a_flat_tree_has_each_value_by_its_path) {
  const Node tree = parse_yaml("b: {c: 1, d: {}}\na: [x, {e: \"8\"}]\nf: []\n", "t.yaml");
  EXPECT_EQ(flat(tree),
            (FlatTree{{"b.c", "1"}, {"b.d", "{}"}, {"a.0", "x"}, {"a.1.e", "\"8\""}, {"f", "[]"}}));
}

}  // namespace
}  // namespace stoker
