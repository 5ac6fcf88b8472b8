#include "io/dataset/data_identity.h"

#include <gtest/gtest.h>

#include <utility>

namespace stoker {
namespace {

struct Listed {
  std::vector<std::string> classes{"cat", "dog"};
  std::vector<SampleInfo> train{{"a.jpg", 0, 10}, {"b.jpg", 1, 20}, {"c.jpg", 1, 30}};
  std::vector<SampleInfo> test{{"t.jpg", 0, 10}};
};

class ListedDataset final : public Dataset {
 public:
  explicit ListedDataset(Listed of) : Dataset({}), of_(std::move(of)) {}
  const std::vector<std::string>& classes() const override { return of_.classes; }
  int64_t size(Split split) const override { return std::ssize(samples(split)); }
  SampleInfo info(Split split, int64_t index) const override {
    return samples(split).at(static_cast<size_t>(index));
  }
  EncodedSample read(Split, int64_t, Buffer&) const override { return {}; }

 private:
  const std::vector<SampleInfo>& samples(Split split) const {
    return split == Split::train ? of_.train : of_.test;
  }
  const Listed of_;
};

DataIdentity identity(const Listed& of) { return identity_of(ListedDataset(of)); }

// What other_classes() and other_samples() say after a change.
template <class Change>
std::pair<std::string, std::string> differences(const Change& change) {
  Listed now;
  change(now);
  const DataIdentity before = identity(Listed()), after = identity(now);
  return {other_classes(before, after), other_samples(before, after)};
}

using Both = std::pair<std::string, std::string>;

TEST(DataIdentity, of_the_same_data_is_the_same) {
  EXPECT_EQ(differences([](Listed&) {}), Both("", ""));
}

TEST(DataIdentity, tells_which_class_is_another_one) {
  EXPECT_EQ(differences([](Listed& now) {
              now.classes = {"cat", "wolf"};
            }),
            Both("class 1 was 'dog' and is 'wolf'", ""));
  EXPECT_EQ(differences([](Listed& now) {
              now.classes = {"dog", "cat"};
            }),
            Both("class 0 was 'cat' and is 'dog'", ""));
  EXPECT_EQ(differences([](Listed& now) { now.classes.push_back("eel"); }),
            Both("3 classes instead of 2: class 2, 'eel', is new", ""));
  EXPECT_EQ(differences([](Listed& now) { now.classes.pop_back(); }),
            Both("1 classes instead of 2: class 1, 'dog', is gone", ""));
}

TEST(DataIdentity, tells_how_many_samples_there_are) {
  EXPECT_EQ(differences([](Listed& now) { now.train.pop_back(); }),
            Both("", "2 training samples instead of 3"));
  EXPECT_EQ(differences([](Listed& now) {
              now.train.push_back({"d.jpg", 0, 1});
              now.test.clear();
            }),
            Both("", "4 training samples instead of 3; 0 test samples instead of 1"));
}

TEST(DataIdentity, tells_that_samples_are_others) {
  const Both others("", "as many training samples, but other keys, sizes or labels");
  EXPECT_EQ(differences([](Listed& now) { now.train[1].key = "x.jpg"; }), others);
  EXPECT_EQ(differences([](Listed& now) { now.train[1].bytes = 21; }), others);
  EXPECT_EQ(differences([](Listed& now) { now.train[1].label = 0; }), others);
  EXPECT_EQ(differences([](Listed& now) { std::swap(now.train[1], now.train[2]); }), others);
}

TEST(DataIdentity, of_many_classes_says_no_name) {
  Listed before, now;
  before.classes = std::vector<std::string>(20'000, "classes");
  now.classes = before.classes;
  now.classes[7] = "another";
  EXPECT_TRUE(identity(before).names.empty());
  EXPECT_EQ(other_classes(identity(before), identity(now)), "other names");
  now.classes.pop_back();
  EXPECT_EQ(other_classes(identity(before), identity(now)), "19999 classes instead of 20000");
}

}  // namespace
}  // namespace stoker
