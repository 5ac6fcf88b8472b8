#include <gtest/gtest.h>

#include "io/core/error.h"
#include "io/dataset/listed_files.h"
#include "tests/support/datasets.h"
#include "tests/support/errors.h"
#include "tests/support/expecting_storage.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

using Strings = std::vector<std::string>;

// "path=label@line ..."
std::string listed(const std::string& text) {
  std::string result;
  for (const ListedFile& file : parse_listed_files(text, "l.csv")) {
    if (!result.empty()) result += ' ';
    result += file.path + "=" + file.label + "@" + std::to_string(file.line);
  }
  return result;
}

// A tier in memory with these files, whose contents are their paths, and a list train.csv.
struct Listed : TestDataset {
  explicit Listed(const Strings& files, const std::string& train) : TestDataset(tier_of(files)) {
    put(tier(), "train.csv", train);
  }
  static std::unique_ptr<Storage> tier_of(const Strings& files) {
    auto tier = std::make_unique<ExpectingStorage>(make_storage("{type: memory}"));
    for (const std::string& key : files) put(*tier, key, key);
    return tier;
  }
  const Dataset& build(const std::string& more = "") {
    return TestDataset::build("{type: file_list, storage: data, train: train.csv" + more + "}");
  }
  std::string refused(const std::string& more = "") {
    return error_of([&] { build(more); });
  }
};

std::vector<int64_t> labels(const Dataset& data, Split split) {
  std::vector<int64_t> result;
  for (int64_t i = 0; i < data.size(split); ++i) result.push_back(data.info(split, i).label);
  return result;
}

TEST(ListedFiles, are_rows_of_csv) {
  EXPECT_EQ(listed("a.jpg,1\nb c.jpg,cat\n"), "a.jpg=1@1 b c.jpg=cat@2");
  EXPECT_EQ(listed("a.jpg,1\r\nb.jpg,2"), "a.jpg=1@1 b.jpg=2@2");
  EXPECT_EQ(listed("path,label\na.jpg,1\n"), "a.jpg=1@2");
  EXPECT_EQ(listed("\xef\xbb\xbf\"path\",label\r\n\r\na.jpg,1\n\n"), "a.jpg=1@3");
  EXPECT_EQ(listed("a.jpg,1\npath,label\n"), "a.jpg=1@1 path=label@2");
  EXPECT_EQ(listed(""), "");
}

TEST(ListedFiles, quoted_fields_hold_commas_quotes_and_lines) {
  EXPECT_EQ(listed("\"a,b.jpg\",\"the \"\"cat\"\"\"\n\"c\nd.jpg\",2\r\ne.jpg,\"3\""),
            "a,b.jpg=the \"cat\"@1 c\nd.jpg=2@2 e.jpg=3@4");
}

TEST(ListedFiles, names_that_are_no_utf_8_are_those_of_a_listing) {
  EXPECT_EQ(listed("\xe9.jpg,caf\xc3\xa9\n"), "\\xe9.jpg=caf\xc3\xa9@1");
}

TEST(ListedFiles, what_is_no_row_is_refused_with_its_place) {
  const auto refused = [](const std::string& text) { return error_of([&] { listed(text); }); };
  const std::string no_label = "has no label: expected path,label";
  EXPECT_EQ(refused("a.jpg,1\nb.jpg\n"), "dataset: l.csv:2: " + no_label);
  EXPECT_EQ(refused("b.jpg,\n"), "dataset: l.csv:1: " + no_label);
  EXPECT_EQ(refused("b.jpg,\"\"\n"), "dataset: l.csv:1: " + no_label);
  EXPECT_EQ(refused("\n,1"), "dataset: l.csv:2: has no path: expected path,label");
  EXPECT_EQ(refused("a.jpg,1,2\n"),
            "dataset: l.csv:1: has more than two columns: a path with a comma needs quotes "
            "(\"a,b.jpg\",1)");
  EXPECT_EQ(refused("\n\"a.jpg,1\nb.jpg,2\n"),
            "dataset: l.csv:2: has a quoted field without an end");
  EXPECT_EQ(refused("\"a\"b.jpg,1\n"), "dataset: l.csv:1: has something behind a quoted field");
  EXPECT_EQ(refused("a.jpg,\"1\"2\n"), "dataset: l.csv:1: has something behind a quoted field");
  EXPECT_EQ(refused("a\"b.jpg,1\n"),
            "dataset: l.csv:1: has a quote in a field that does not begin with one");
}

TEST(FileList, numbers_are_labels) {
  Listed list({"a/1.jpg", "b/2.jpg", "c.jpg"}, "path,label\nb/2.jpg,1\na/1.jpg,0\nb/2.jpg,1\n");
  put(list.tier(), "test.csv", "c.jpg,3\n");
  const Dataset& data = list.build(", test: test.csv");
  EXPECT_EQ(data.classes(), (Strings{"0", "1", "2", "3"}));
  EXPECT_EQ(keys(data, Split::train), (Strings{"b/2.jpg", "a/1.jpg", "b/2.jpg"}));
  EXPECT_EQ(labels(data, Split::train), (std::vector<int64_t>{1, 0, 1}));
  EXPECT_EQ(labels(data, Split::test), std::vector<int64_t>{3});
  EXPECT_EQ(data.info(Split::train, 0).bytes, 7u);
  EXPECT_EQ(read_sample(data, Split::train, 1), "a/1.jpg");
  EXPECT_EQ(read_sample(data, Split::test, 0), "c.jpg");
  EXPECT_TRUE(list.remarks.empty());
}

TEST(FileList, labels_may_start_at_1) {
  Listed list({"a.jpg", "b.jpg"}, "a.jpg,2\nb.jpg,1\n");
  const Dataset& data = list.build(", label_offset: 1");
  EXPECT_EQ(data.classes(), (Strings{"1", "2"}));
  EXPECT_EQ(labels(data, Split::train), (std::vector<int64_t>{1, 0}));
  put(list.tier(), "train.csv", "a.jpg,1\nb.jpg,0\n");
  EXPECT_EQ(list.refused(", label_offset: 1"),
            "dataset: train.csv:2: '0' is neither the name of a class nor its number "
            "(dataset.classes, dataset.label_offset)");
}

TEST(FileList, names_sorted_bytewise_are_the_classes) {
  Listed list({"1.jpg", "2.jpg", "3.jpg", "4.jpg"}, "1.jpg,owl\n2.jpg,Cat\n3.jpg,747\n");
  put(list.tier(), "test.csv", "4.jpg,ant\n");
  const Dataset& data = list.build(", test: test.csv");
  EXPECT_EQ(data.classes(), (Strings{"747", "Cat", "ant", "owl"}));
  EXPECT_EQ(labels(data, Split::train), (std::vector<int64_t>{3, 1, 0}));
  EXPECT_EQ(labels(data, Split::test), std::vector<int64_t>{2});
}

TEST(FileList, an_object_names_the_classes) {
  Listed list({"1.jpg", "2.jpg"}, "1.jpg,owl\n2.jpg,0\n");
  put(list.tier(), "classes.txt", "cat\nowl\n");
  EXPECT_EQ(list.build().classes(), (Strings{"cat", "owl"}));
  EXPECT_EQ(labels(*list.dataset, Split::train), (std::vector<int64_t>{1, 0}));
  for (const std::string label : {"bat", "2", "-1", "99999999999999999999", "5000000"}) {
    put(list.tier(), "train.csv", "1.jpg,owl\n2.jpg," + label + "\n");
    EXPECT_EQ(list.refused(), "dataset: train.csv:2: '" + label +
                                  "' is neither the name of a class nor its number "
                                  "(dataset.classes, dataset.label_offset)");
  }
}

TEST(FileList, paths_are_below_a_folder) {
  Listed list({"images/a/1.jpg", "lists/l.csv"}, "");
  put(list.tier(), "lists/l.csv", "a/1.jpg,0\n");
  const Dataset& data = list.TestDataset::build(
      "{type: file_list, storage: data, train: lists/l.csv, folder: images}");
  EXPECT_EQ(keys(data, Split::train), Strings{"images/a/1.jpg"});
  EXPECT_EQ(read_sample(data, Split::train, 0), "images/a/1.jpg");
}

TEST(FileList, a_path_out_of_the_tier_is_refused) {
  for (const std::string path : {"../a.jpg", "/a.jpg", "a/../../b.jpg", "./a.jpg", "a//b.jpg"}) {
    Listed list({"a.jpg"}, "a.jpg,0\n" + path + ",1\n");
    EXPECT_EQ(list.refused(), "dataset: train.csv:2: key '" + path +
                                  "' must be a relative path inside its tier such as a/b.jpg");
  }
}

TEST(FileList, a_file_that_is_not_there_is_a_bad_sample_and_a_remark) {
  Listed list({"a.jpg"}, "a.jpg,0\n\"b\n.jpg\",0\nc.jpg,0\n");
  const Dataset& data = list.build();
  EXPECT_EQ(list.remarks,
            Strings{"dataset: 2 of 3 listed files are not in tier 'data': b\n.jpg, c.jpg"});
  EXPECT_EQ(data.size(Split::train), 3);
  EXPECT_EQ(read_sample(data, Split::train, 0), "a.jpg");
  try {
    read_sample(data, Split::train, 2);
    FAIL() << "no error";
  } catch (const BadSample& error) {
    EXPECT_EQ(error.reason(), BadReason::missing);
    EXPECT_STREQ(error.what(), "train.csv:4 names it, and there was no such file");
  }
}

TEST(FileList, nothing_to_train_on_is_refused) {
  Listed list({"a.jpg"}, "path,label\n");
  EXPECT_EQ(list.refused(),
            "dataset: list 'train.csv' of tier 'data' is empty: it needs lines path,label");
  put(list.tier(), "train.csv", "x/a.jpg,0\nx/b.jpg,1\n");
  EXPECT_EQ(list.refused(),
            "dataset: tier 'data' has none of the 2 files that train.csv names, such as x/a.jpg: "
            "set dataset.folder to the folder below which the paths are");
  list.tier().remove("train.csv");
  EXPECT_EQ(list.refused(),
            "dataset: there is no list 'train.csv' in tier 'data': name an object with lines "
            "path,label, or write one with its files by `stoker dataset convert CONFIG DIRECTORY "
            "--format file_list` and set storage.data.root=DIRECTORY");
}

TEST(FileList, files_that_changed_are_read_as_a_whole_up_to_the_limit) {
  Listed list({"a.jpg", "b.jpg", "c.jpg"}, "a.jpg,0\nb.jpg,0\nc.jpg,0\n");
  const Dataset& data = list.build(", max_file_bytes: 1KiB");
  put(list.tier(), "a.jpg", std::string(1000, 'x'));
  put(list.tier(), "b.jpg", std::string(2000, 'x'));
  list.tier().remove("c.jpg");
  EXPECT_EQ(read_sample(data, Split::train, 0).size(), 1000u);
  EXPECT_EQ(error_of([&] { read_sample(data, Split::train, 1); }),
            "the file has more than 1024 bytes (dataset.max_file_bytes)");
  EXPECT_EQ(error_of([&] { read_sample(data, Split::train, 2); }),
            "read c.jpg: No such file or directory");
}

TEST(FileList, tells_its_tier_what_it_will_read) {
  Listed list({"a.jpg", "b.jpg"}, "a.jpg,0\nabsent.jpg,0\nb.jpg,0\n");
  const Dataset& data = list.build();
  const auto& tier = dynamic_cast<const ExpectingStorage&>(list.tier());
  (void)tier.reads();
  const std::vector<int64_t> order{2, 1, 0};
  data.expect(Split::train, order);
  read_sample(data, Split::train, 2);
  read_sample(data, Split::train, 0);
  const std::vector<ObjectRange> expected = tier.expected();
  EXPECT_EQ(expected, (std::vector<ObjectRange>{{"b.jpg", {0, 6}}, {"a.jpg", {0, 6}}}));
  EXPECT_EQ(tier.reads(), expected);
}

TEST(FileList, names_that_are_no_utf_8_are_found) {
  TemporaryDirectory root;
  root.write("caf\xe9.jpg", "image");
  root.write("train.csv", "caf\xe9.jpg,0\n");
  TestDataset data(posix_storage(root.path()));
  data.build("{type: file_list, storage: data, train: train.csv}");
  EXPECT_EQ(read_sample(*data.dataset, Split::train, 0), "image");
}

}  // namespace
}  // namespace stoker
