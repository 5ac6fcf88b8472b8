#include "io/dataset/class_names.h"

#include <gtest/gtest.h>

#include "io/core/error.h"
#include "tests/support/errors.h"
#include "tests/support/storages.h"

namespace stoker {
namespace {

using ClassList = std::vector<std::string>;

ClassList names_in(const std::string& text, const std::string& key = kClassNames) {
  const auto tier = make_storage("{type: memory}");
  put(*tier, kClassNames, text);
  put(*tier, "labels.txt", "cat\n");
  return read_class_names(*tier, key);
}
std::string refused_names(const std::string& text, const std::string& key = kClassNames) {
  return error_of([&] { names_in(text, key); });
}

LabelUses uses(std::initializer_list<std::pair<int64_t, int64_t>> counts) {
  LabelUses labels;
  for (const auto& [label, samples] : counts) {
    labels[label] = {samples, "s" + std::to_string(label)};
  }
  return labels;
}
std::string refused_labels(const LabelUses& labels, int64_t first = 0) {
  return error_of([&] { numbered_classes(labels, first); });
}

std::string remark_of(const ClassList& classes, const LabelUses& labels, bool numbered) {
  std::string text;
  remark_classes(classes, labels, numbered, "a rule",
                 [&](const std::string& remark) { text += remark; });
  return text;
}

TEST(ClassNames, what_an_editor_adds_is_no_class) {
  const ClassList pets{"cat", "dog"};
  EXPECT_EQ(names_in("cat\ndog"), pets);
  EXPECT_EQ(names_in("cat\ndog\n"), pets);
  EXPECT_EQ(names_in("cat\ndog\n\n"), pets);
  EXPECT_EQ(names_in("cat\r\ndog\r\n \r\n\t\n"), pets);
  EXPECT_EQ(names_in("\xef\xbb\xbf"
                     "cat\n dog \n"),
            pets);
  EXPECT_EQ(names_in("Siamese cat\ndog"), (ClassList{"Siamese cat", "dog"}));
}

TEST(ClassNames, a_line_that_names_no_class_or_one_again_is_refused) {
  EXPECT_EQ(refused_names("cat\n\ndog\n"),
            "dataset: classes.txt:2: is empty, and each line names the class of a label: remove "
            "the line, or name the class");
  EXPECT_EQ(refused_names("\ncat\n").substr(0, 36), "dataset: classes.txt:1: is empty, an");
  EXPECT_EQ(refused_names("cat\ndog\ncat \n"),
            "dataset: classes.txt:3: names class 'cat' again, as line 1 does: each line names "
            "another class");
  EXPECT_EQ(refused_names("\n\n"),
            "dataset: classes.txt:1: names no class: write a name on each line, or remove it");
  EXPECT_EQ(refused_names(std::string("c\0a\0t\0", 6)),
            "dataset: classes.txt:1: is no text: write it as UTF-8");
}

TEST(ClassNames, an_object_that_an_option_names_has_to_exist) {
  const auto tier = make_storage("{type: memory}");
  put(*tier, "labels.txt", "cat\n");
  EXPECT_EQ(read_class_names(*tier, kClassNames), ClassList());
  EXPECT_EQ(read_class_names(*tier, ""), ClassList());
  EXPECT_EQ(error_of([&] { read_class_names(*tier, "label.txt"); }),
            "dataset: there is no object 'label.txt', which should name the classes (did you mean "
            "'labels.txt'?); there is 'labels.txt': set dataset.classes");
  EXPECT_EQ(error_of([&] { read_class_names(*tier, "a/b.txt"); }),
            "dataset: there is no object 'a/b.txt', which should name the classes: set "
            "dataset.classes");
}

TEST(NumberedClasses, are_the_numbers_from_the_first_to_the_highest) {
  EXPECT_EQ(numbered_classes({}, 0), ClassList());
  EXPECT_EQ(numbered_classes(uses({{0, 5}, {2, 5}}), 0), (ClassList{"0", "1", "2"}));
  EXPECT_EQ(numbered_classes(uses({{0, 1}, {1, 5}, {2, 5}}), 1), (ClassList{"1", "2"}));
  // A part of ImageNet.
  EXPECT_EQ(numbered_classes(uses({{7, 1}, {250, 1}, {999, 1}}), 0).size(), 1000u);
  EXPECT_EQ(numbered_classes(uses({{0, 500}, {255, 1}}), 0).size(), 256u);
}

TEST(NumberedClasses, a_label_far_from_all_others_is_refused) {
  EXPECT_EQ(refused_labels(uses({{0, 4}, {1, 3}, {255, 1}})),
            "dataset: s255 has label 255, which makes 256 classes, and the labels below end at 1: "
            "repair it, leave the sample out, or name all classes in dataset.classes");
  EXPECT_EQ(refused_labels(uses({{0, 4}, {1, 3}, {1'000'000'000, 2}})),
            "dataset: s1000000000 and 1 more samples have label 1000000000, which makes 1000000001 "
            "classes, and the labels below end at 1: repair it, leave the sample out, or name all "
            "classes in dataset.classes");
  EXPECT_EQ(refused_labels(uses({{50'000, 4}, {50'001, 4}})),
            "dataset: s50000 and 3 more samples have label 50000, which makes 50002 classes, and "
            "no label is lower: set dataset.label_offset=50000");
  EXPECT_EQ(numbered_classes(uses({{50'000, 4}, {50'001, 4}}), 50'000).size(), 2u);
  // However many samples there are.
  EXPECT_NE(refused_labels(uses({{0, 10'000'000}, {INT64_MAX, 1}})), "");
  EXPECT_NE(refused_labels(uses({{0, 10'000'000}, {1'000'000, 1}})), "");
}

TEST(NumberedClasses, that_begin_at_1_are_told_from_names) {
  const auto refused = [](const LabelUses& labels, size_t classes, int64_t first) {
    return error_of([&] { check_first_label(labels, classes, first); });
  };
  EXPECT_EQ(refused(uses({{1, 2}, {3, 1}}), 3, 0),
            "dataset: labels run from 1 to 3, and 3 classes are named: set dataset.label_offset=1");
  check_first_label(uses({{1, 2}, {3, 1}}), 3, 1);
  check_first_label(uses({{1, 2}, {2, 1}}), 3, 0);
  check_first_label(uses({{0, 2}, {3, 1}}), 3, 0);
  check_first_label({}, 3, 0);
}

TEST(Classes, what_can_hardly_be_meant_is_told) {
  EXPECT_EQ(remark_of({"cat", "dog"}, uses({{0, 5}, {1, 5}}), false), "");
  EXPECT_EQ(remark_of({"imgs"}, uses({{0, 20}}), false),
            "dataset: all 20 training samples are of one class, 'imgs', so there is nothing to "
            "learn: a rule");
  EXPECT_EQ(remark_of({"cat", "dog"}, uses({{1, 20}}), false),
            "dataset: all 20 training samples are of one class, 'dog', so there is nothing to "
            "learn: a rule");
  EXPECT_EQ(remark_of({"0", "1", "2"}, uses({{1, 5}, {2, 5}}), true),
            "dataset: 1 of 3 classes has no training sample: '0': labels begin at 1: set "
            "dataset.label_offset=1");
  EXPECT_EQ(remark_of({"a", "b", "c", "d"}, uses({{0, 5}, {2, 5}}), false),
            "dataset: 2 of 4 classes have no training sample: 'b' and 'd'");
  EXPECT_EQ(remark_of({"cat"}, uses({{0, 1}}), false), "");
}

}  // namespace
}  // namespace stoker
