#include <gtest/gtest.h>

#include "io/core/error.h"
#include "io/dataset/files/listed_files.h"
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

TEST(ListedFiles, paths_are_plain_and_blanks_around_a_label_do_not_count) {
  EXPECT_EQ(listed("./a//b.jpg, cat\nc.jpg,\tdog \n"), "a/b.jpg=cat@1 c.jpg=dog@2");
  EXPECT_EQ(listed("\" a.jpg\",\"the cat \"\n"), " a.jpg=the cat@1");
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
  const std::string no_label = "has no label: expected path,label, got 'b.jpg'";
  EXPECT_EQ(refused("a.jpg,1\nb.jpg\n"), "dataset: l.csv:2: " + no_label);
  EXPECT_EQ(refused("b.jpg,\n"), "dataset: l.csv:1: " + no_label);
  EXPECT_EQ(refused("b.jpg,\" \"\n"), "dataset: l.csv:1: " + no_label);
  EXPECT_EQ(refused("b.jpg;1\n"),
            "dataset: l.csv:1: has no label: expected path,label, got 'b.jpg;1'");
  EXPECT_EQ(refused("\n,1"), "dataset: l.csv:2: has no path: expected path,label");
  EXPECT_EQ(refused("a.jpg,1,2\n"),
            "dataset: l.csv:1: has 3 columns: expected path,label, where a path with a comma needs "
            "quotes (\"a,b.jpg\",1)");
  EXPECT_EQ(refused("\n\"a.jpg,1\nb.jpg,2\n"),
            "dataset: l.csv:2: has a quoted field without an end");
  EXPECT_EQ(refused("\"a\"b.jpg,1\n"), "dataset: l.csv:1: has something behind a quoted field");
  EXPECT_EQ(refused("a.jpg,\"1\"2\n"), "dataset: l.csv:1: has something behind a quoted field");
  EXPECT_EQ(refused("a\"b.jpg,1\n"),
            "dataset: l.csv:1: has a quote in a field that does not begin with one");
}

TEST(FileList, numbers_are_labels) {
  Listed list({"a/1.jpg", "b/2.jpg", "c.jpg", "d.jpg"},
              "path,label\nb/2.jpg,1\na/1.jpg,0\nd.jpg,2.0\n");
  put(list.tier(), "test.csv", "c.jpg,2\n");
  const Dataset& data = list.build(", test: test.csv");
  EXPECT_EQ(data.classes(), (Strings{"0", "1", "2"}));
  EXPECT_EQ(keys(data, Split::train), (Strings{"b/2.jpg", "a/1.jpg", "d.jpg"}));
  EXPECT_EQ(labels(data, Split::train), (std::vector<int64_t>{1, 0, 2}));
  EXPECT_EQ(labels(data, Split::test), std::vector<int64_t>{2});
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
  for (const std::string path : {"../a.jpg", "/a.jpg", "a/../../b.jpg"}) {
    Listed list({"a.jpg"}, "a.jpg,0\n" + path + ",1\n");
    EXPECT_EQ(list.refused(), "dataset: train.csv:2: key '" + path +
                                  "' must be a relative path inside its tier such as a/b.jpg");
  }
}

TEST(FileList, a_file_that_is_not_there_is_a_bad_sample_and_a_remark) {
  Listed list({"a.jpg"}, "a.jpg,0\n\"b\n.jpg\",0\nc.jpg,1\n");
  const Dataset& data = list.build();
  EXPECT_EQ(list.remarks,
            Strings{"dataset: 2 of 3 listed files are not in tier 'data': 'b\n.jpg' and 'c.jpg'"});
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
  put(list.tier(), "train.csv", "a.jpg,0\n");
  put(list.tier(), "test.csv", "\n");
  EXPECT_EQ(list.refused(", test: test.csv"),
            "dataset: list 'test.csv' of tier 'data' is empty: it needs lines path,label, or leave "
            "dataset.test out");
}

TEST(FileList, a_list_that_is_not_there_names_those_that_are) {
  Listed list({"a.jpg", "lists/val.csv", "notes.txt"}, "a.jpg,0\n");
  const std::string convert =
      ", or write a list with its files by `stoker dataset convert CONFIG DIRECTORY --format "
      "file_list` and set storage.data.root=DIRECTORY";
  const auto refused = [&](const std::string& options) {
    return error_of(
        [&] { list.TestDataset::build("{type: file_list, storage: data" + options + "}"); });
  };
  EXPECT_EQ(refused(", train: tarin.csv"),
            "dataset: there is no list 'tarin.csv' in tier 'data' (did you mean 'train.csv'?); "
            "there are 'train.csv', 'lists/val.csv', 'notes.txt' and 'a.jpg': set dataset.train" +
                convert);
  EXPECT_EQ(refused(", test: lists/vall.csv"),
            "dataset: there is no list 'lists/vall.csv' in tier 'data' (did you mean "
            "'lists/val.csv'?); there are 'lists/val.csv', 'notes.txt', 'train.csv' and 'a.jpg': "
            "set dataset.test" +
                convert);
  TemporaryDirectory root;
  TestDataset absent(posix_storage(root / "absent"));
  EXPECT_EQ(
      error_of([&] { absent.build("{type: file_list, storage: data}"); }),
      "list " + root / "absent" + ": No such file or directory; there are none in " + root.path());
}

TEST(FileList, paths_that_fit_no_file_say_which_files_are_there) {
  Listed list({"img/0.jpg", "img/1.jpg"}, "0.jpg,0\n1.jpg,1\n");
  const std::string begin = "dataset: tier 'data' has none of the 2 files that train.csv names, ";
  EXPECT_EQ(list.refused(), begin + "such as '0.jpg': set dataset.folder=img");
  put(list.tier(), "train.csv", "images/0.jpg,0\nimages/1.jpg,1\n");
  EXPECT_EQ(list.refused(), begin +
                                "such as 'images/0.jpg', but 'img/0.jpg': the paths must begin at "
                                "the tier's root or at dataset.folder");
  put(list.tier(), "train.csv", "IMG/0.JPG,0\nIMG/1.JPG,1\n");
  EXPECT_EQ(list.refused(),
            begin +
                "such as 'IMG/0.JPG' (did you mean 'img/0.jpg'?); there are 'img/0.jpg', "
                "'img/1.jpg' and 'train.csv': set dataset.folder to the folder below which the "
                "paths are");
  put(list.tier(), "train.csv", "cat,img/0.jpg\ndog,img/1.jpg\n");
  EXPECT_EQ(list.refused(), begin + "such as 'cat': the columns are swapped; expected path,label");
  put(list.tier(), "train.csv", "label,path\ndog,img/1.jpg\n");
  EXPECT_EQ(list.refused(),
            begin + "such as 'label': the columns are swapped; expected path,label");
  EXPECT_EQ(list.refused(", folder: imgs"),
            "dataset: there is no folder 'imgs' in tier 'data' (did you mean 'img'?); there is "
            "'img': set dataset.folder");
}

TEST(FileList, a_heading_of_its_own_words_is_no_sample) {
  const auto classes_of = [](const std::string& rows) {
    Listed list({"img/0.jpg", "img/1.jpg", "0001", "0002"}, rows);
    std::string text;
    for (const std::string& name : list.build().classes()) text += name + " ";
    return text + "| " + (list.remarks.empty() ? "" : list.remarks.front());
  };
  const std::string taken = " is taken for a heading, for there is no such file";
  EXPECT_EQ(classes_of("filename,label\nimg/0.jpg,cat\nimg/1.jpg,dog\n"),
            "cat dog | dataset: train.csv:1: 'filename,label'" + taken);
  EXPECT_EQ(classes_of("image_id,breed\nimg/0.jpg,0\nimg/1.jpg,1\n"),
            "0 1 | dataset: train.csv:1: 'image_id,breed'" + taken);
  EXPECT_EQ(classes_of("Path,Label\nimg/0.jpg,0\nimg/1.jpg,1\n"),
            "0 1 | dataset: train.csv:1: 'Path,Label'" + taken);
  EXPECT_EQ(classes_of("id,class\n0001,cat\n0002,dog\n"),
            "cat dog | dataset: train.csv:1: 'id,class'" + taken);
  const std::string absent = "dataset: 1 of 3 listed files is not in tier 'data': ";
  EXPECT_EQ(classes_of("img/9.jpg,owl\nimg/0.jpg,cat\nimg/1.jpg,dog\n"),
            "cat dog owl | " + absent + "'img/9.jpg'")
      << "a file like the others, and the only one of its class";
  EXPECT_EQ(classes_of("0009,cat\n0001,cat\n0002,dog\n"), "cat dog | " + absent + "'0009'");
  EXPECT_EQ(classes_of("0009,2\n0001,0\n0002,1\n"), "0 1 2 | " + absent + "'0009'");
  Listed list({"0.jpg", "1.jpg"}, "path,label\n0.jpg,0\n1.jpg,1\n");
  put(list.tier(), "test.csv", "file,class\n0.jpg,1\n");
  EXPECT_EQ(list.build(", test: test.csv").size(Split::test), 1);
}

TEST(FileList, labels_that_can_hardly_be_meant_are_said) {
  const auto remark = [](const std::string& rows, const std::string& test = "") {
    Listed list({"0.jpg", "1.jpg", "2.jpg"}, rows);
    if (!test.empty()) put(list.tier(), "test.csv", test);
    list.build(test.empty() ? "" : ", test: test.csv");
    return list.remarks.size() == 1 ? list.remarks.front() : std::to_string(list.remarks.size());
  };
  EXPECT_EQ(remark("0.jpg,cat\n1.jpg,dog \n2.jpg, cat\n"), "0");
  EXPECT_EQ(remark("0.jpg,cat\n1.jpg,dog\u00a0\n2.jpg,\ufeffcat\n"), "0");
  EXPECT_EQ(remark("0.jpg,1\n1.jpg,18446744073709551616\n").substr(0, 60),
            "dataset: labels are numbers such as '1' (train.csv:1) and na");
  EXPECT_EQ(remark("0.jpg,0.0\n1.jpg,1.0\n2.jpg,0.0\n"), "0");
  EXPECT_EQ(remark("0.jpg,cat\n1.jpg,dog\n2.jpg,NaN\n"),
            "dataset: label 'NaN' (train.csv:3) looks like that of a value that is missing: remove "
            "its files, or name it");
  EXPECT_EQ(remark("0.jpg,cat\n1.jpg,1\n2.jpg,10\n"),
            "dataset: labels are numbers such as '1' (train.csv:2) and names such as 'cat' "
            "(train.csv:1), and all are taken for names: if the numbers are those of classes, name "
            "the classes in an object (dataset.classes)");
  EXPECT_EQ(remark("0.jpg,-1\n1.jpg,0\n").substr(0, 60),
            "dataset: labels are numbers such as '0' (train.csv:2) and na");
  EXPECT_EQ(
      remark("0.jpg,1\n1.jpg,2\n"),
      "dataset: no file has label 0, and there are 3 classes with it: if labels begin with 1, "
      "set dataset.label_offset=1");
  EXPECT_EQ(remark("0.jpg,0\n1.jpg,255\n"),
            "dataset: 2 of 256 classes have files: labels are numbers with gaps");
  EXPECT_EQ(remark("0.jpg,cat\n1.jpg,dog\n", "2.jpg,horse\n"),
            "dataset: label 'horse' (test.csv:1) is in no line that is trained on");
  EXPECT_EQ(remark("0.jpg,cat\n0.jpg,cat\n1.jpg,dog\n"), "0");
  EXPECT_EQ(remark("0.jpg,cat\n1.jpg,dog\n0.jpg,dog\n"),
            "dataset: another line has another label for 1 file: '0.jpg' has 'cat' (train.csv:1) "
            "and 'dog' (train.csv:3)");
  EXPECT_EQ(remark("0.jpg,cat\n1.jpg,dog\n", "./1.jpg,dog\n2.jpg,cat\n"),
            "dataset: training takes 1 file of test.csv as well, such as '1.jpg'");
  EXPECT_EQ(remark("0.jpg,cat\n1.jpg,cat\n"),
            "dataset: there is one class alone, 'cat', so every answer is right");
  EXPECT_EQ(remark("0.jpg,cat\n1.jpg,Cat\n"),
            "dataset: the classes 'Cat' and 'cat' differ in the case of letters, in blanks or in "
            "accents alone: "
            "rename one of them if they are the same");
  EXPECT_EQ(
      Listed({"0.jpg", "1.jpg"}, "0.jpg,0\n1.jpg,999999\n").refused(),
      "dataset: label '999999' (train.csv:2) makes 1000000 classes, and 2 of them have files: "
      "number the classes from 0 on, or name them in an object (dataset.classes)");
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
