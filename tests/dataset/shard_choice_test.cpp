#include "io/dataset/shards/shard_choice.h"

#include <gtest/gtest.h>

#include "io/core/error.h"
#include "tests/support/archives.h"
#include "tests/support/datasets.h"
#include "tests/support/errors.h"

// Which objects of a tier train and test.

namespace stoker {
namespace {

using Texts = std::vector<std::string>;

// A tier in memory with shards of two samples each, of two classes.
struct ChosenShards : TestDataset {
  explicit ChosenShards(const Texts& names) : TestDataset(make_storage("{type: memory}")) {
    for (const std::string& name : names) {
      put(tier(), name,
          make_archive({{"a/" + name + "/1.jpg", "1"}, {"b/" + name + "/2.jpg", "2"}},
                       ARCHIVE_FORMAT_TAR_USTAR, false));
    }
  }
  const Dataset& build(const std::string& more = "") {
    return TestDataset::build("{type: tar_shards, storage: data" + more + "}");
  }
  std::string refused(const std::string& more = "") {
    return error_of([&] { build(more); });
  }
  Texts trains(const std::string& more) { return objects_of(build(more), Split::train); }
  Texts tests(const std::string& more) { return objects_of(build(more), Split::test); }
};

TEST(Braces, stand_for_several_patterns_as_in_bash) {
  EXPECT_EQ(expand_braces("a-*.tar"), Texts{"a-*.tar"});
  EXPECT_EQ(expand_braces("{a,b}-{08..10}.tar"),
            (Texts{"a-08.tar", "a-09.tar", "a-10.tar", "b-08.tar", "b-09.tar", "b-10.tar"}));
  EXPECT_EQ(expand_braces("{000..002}"), (Texts{"000", "001", "002"}));
  EXPECT_EQ(expand_braces("{3..1}{,x}"), (Texts{"3", "3x", "2", "2x", "1", "1x"}));
  EXPECT_EQ(expand_braces("{0..9..4}"), (Texts{"0", "4", "8"}));
  EXPECT_EQ(expand_braces("{a..c}"), (Texts{"a", "b", "c"}));
  EXPECT_EQ(expand_braces("{a,b{1..2}}c"), (Texts{"ac", "b1c", "b2c"}));
  EXPECT_EQ(expand_braces("{-1..1}"), (Texts{"-1", "0", "1"}));
}

TEST(Braces, that_say_nothing_stay) {
  for (const std::string text :
       {"{a}", "{", "}", "{}", "a{b", "\\{a,b}", "{1..}", "{1..b}", "{1..2..0}"}) {
    EXPECT_EQ(expand_braces(text), Texts{text});
  }
  EXPECT_EQ(expand_braces("{a}{b,c}"), (Texts{"{a}b", "{a}c"}));
  EXPECT_EQ(expand_braces("{x{b,c}"), (Texts{"{xb", "{xc"}));
}

TEST(Braces, are_limited) {
  for (const std::string text : {"{0..1000000}", "{0..9999}{0..9999}", "{0..9223372036854775807}",
                                 "{-9223372036854775807..9223372036854775807}"}) {
    EXPECT_EQ(error_of([&] { expand_braces(text); }),
              "dataset: braces stand for more than 1000000 objects: write * in their place");
  }
  EXPECT_EQ(error_of([] { expand_braces(std::string(5000, '{')); }),
            "dataset: a pattern has more than 4096 bytes");
}

TEST(ShardChoice, shards_are_named_as_users_of_webdataset_name_them) {
  ChosenShards shards({"train-000.tar", "train-001.tar", "train-002.tar", "val-0.tar", "x.tar"});
  EXPECT_EQ(shards.trains(", train: 'train-{000..001}.tar'"),
            (Texts{"train-000.tar", "train-001.tar"}));
  EXPECT_TRUE(shards.remarks.empty());
  EXPECT_EQ(shards.trains(", train: '{x,train-*2}.tar'"), (Texts{"train-002.tar", "x.tar"}));
  EXPECT_EQ(shards.tests(", test: 'val-{0..0}.tar'"), Texts{"val-0.tar"});
}

TEST(ShardChoice, shards_that_braces_name_and_that_are_not_there_are_told) {
  ChosenShards shards({"train-000.tar", "train-002.tar"});
  EXPECT_EQ(shards.trains(", train: 'train-{000..003}.tar'").size(), 2u);
  EXPECT_EQ(shards.remarks,
            Texts{"dataset: 2 of 4 that dataset.train 'train-{000..003}.tar' names are not in tier "
                  "'data': 'train-001.tar' and 'train-003.tar'"});
  shards.trains(", train: '{train,more}-*.tar'");
  EXPECT_EQ(shards.remarks,
            Texts{"dataset: 1 of 2 that dataset.train '{train,more}-*.tar' names is not in tier "
                  "'data': 'more-*.tar'"});
}

TEST(ShardChoice, a_pattern_that_nothing_fits_is_answered_by_what_is_there) {
  ChosenShards shards({"imagenet_train_000.tar", "README.md", "other.tar"});
  const auto answer = [](const std::string& pattern, const std::string& there) {
    return "dataset: no object fits '" + pattern + "' in tier 'data'" + there +
           ": set dataset.train to a pattern of shards that are there, or write some by `stoker "
           "dataset convert CONFIG DIRECTORY --format tar_shards` and set "
           "storage.data.root=DIRECTORY";
  };
  const std::string tars = "; there are 'imagenet_train_000.tar' and 'other.tar'";
  EXPECT_EQ(shards.refused(), answer("train*.tar", tars));
  EXPECT_EQ(
      shards.refused(", train: 'imagenet-train-{000..009}.tar'"),
      answer("imagenet-train-{000..009}.tar", " (did you mean 'imagenet_train_000.tar'?)" + tars));
  // Where nothing ends so, all that is there.
  EXPECT_EQ(shards.refused(", train: 'other.tgz'"),
            answer("other.tgz",
                   " (did you mean 'other.tar'?); there are 'other.tar', 'README.md' and "
                   "'imagenet_train_000.tar'"));
  EXPECT_EQ(ChosenShards({}).refused(), answer("train*.tar", "; there are none"));
}

TEST(ShardChoice, shards_that_train_and_test_are_refused) {
  ChosenShards shards({"test-0.tar", "train-0.tar"});
  EXPECT_EQ(shards.refused(", train: '*.tar'"),
            "dataset: 'test-0.tar' fits dataset.train '*.tar' and dataset.test 'test*.tar', so "
            "what is trained on would be tested: set dataset.train to a pattern of the others, or "
            "dataset.test='' to test nothing");
  EXPECT_NE(shards.refused(", test: 't*.tar'"), "");
  EXPECT_EQ(shards.trains(", train: '*.tar', test: ''").size(), 2u);
  // Whoever says the same of both means it.
  EXPECT_EQ(shards.tests(", test: 'train-{0..0}.tar'"), Texts{"train-0.tar"});
  EXPECT_EQ(shards.remarks, Texts{"dataset: what is trained on is tested, too: 'train-0.tar'"});
}

TEST(ShardChoice, shards_named_for_tests_among_those_that_train_are_told) {
  ChosenShards shards({"a-000.tar", "a-val-000.tar", "validation/0.tar", "vale-0.tar"});
  shards.build(", train: '*.tar'");
  EXPECT_EQ(shards.remarks,
            Texts{"dataset: '*.tar' takes a shard that is named for "
                  "tests: 'a-val-000.tar': let dataset.train fit the others alone, and "
                  "dataset.test these"});
  shards.build(", train: '{*,*/*}.tar', split: {train: 0.5, test: 0.5}");
  EXPECT_EQ(shards.remarks, Texts{"dataset: '{*,*/*}.tar' takes 2 shards that are "
                                  "named for tests: 'a-val-000.tar' and 'validation/0.tar': let "
                                  "dataset.train fit the others alone, and dataset.test these"});
  shards.build(", train: '*-val-*.tar'");
  EXPECT_TRUE(shards.remarks.empty());  // it says so itself
}

TEST(ShardChoice, a_test_of_nothing_is_told_where_one_was_asked_for) {
  ChosenShards shards({"train-0.tar", "train-1.tar", "val-0.tar"});
  shards.build();
  EXPECT_TRUE(shards.remarks.empty());
  shards.build(", test: 'eval*.tar'");
  EXPECT_EQ(shards.remarks, Texts{"dataset: nothing is tested: no object fits dataset.test "
                                  "'eval*.tar' in tier 'data' (did you mean 'val-0.tar'?); "
                                  "there are 'val-0.tar', 'train-0.tar' and 'train-1.tar'"});
  shards.build(", split: {train: 0.8, test: 0.1}");
  EXPECT_EQ(shards.remarks, Texts{"dataset: nothing is tested: 0.1 of 2 shards is none: raise "
                                  "dataset.split.test, or write more shards"});
  EXPECT_EQ(shards.refused(", split: {train: 0.4, test: 0.6}"),
            "dataset: 0.4 of 2 shards is none: raise dataset.split.train, or write more shards");
}

}  // namespace
}  // namespace stoker
