#include "io/dataset/data_identity.h"

#include <gtest/gtest.h>

#include <utility>

namespace stoker {
namespace {

struct Known {
  std::vector<std::string> classes{"cat", "dog"};
  std::vector<SampleInfo> train{{"a.jpg", 0, 10}, {"b.jpg", 1, 20}, {"c.jpg", 1, 30}};
  std::vector<SampleInfo> test{{"t.jpg", 0, 10}};
};

class KnownDataset final : public Dataset {
 public:
  explicit KnownDataset(Known of) : Dataset({}), of_(std::move(of)) {}
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
  const Known of_;
};

DataIdentity identified(const Known& of) { return identity_of(KnownDataset(of)); }

// What other_classes() and other_samples() say after a change.
template <class Change>
std::pair<std::string, std::string> differences_after(const Change& change) {
  Known now;
  change(now);
  const DataIdentity before = identified(Known()), after = identified(now);
  return {other_classes(before, after), other_samples(before, after)};
}

using Differences = std::pair<std::string, std::string>;

TEST(DataIdentity, of_the_same_data_is_the_same) {
  EXPECT_EQ(differences_after([](Known&) {}), Differences("", ""));
}

TEST(DataIdentity, tells_which_class_is_another_one) {
  EXPECT_EQ(differences_after([](Known& now) {
              now.classes = {"cat", "wolf"};
            }),
            Differences("class 1 was 'dog' and is 'wolf'", ""));
  EXPECT_EQ(differences_after([](Known& now) {
              now.classes = {"dog", "cat"};
            }),
            Differences("class 0 was 'cat' and is 'dog'", ""));
  EXPECT_EQ(differences_after([](Known& now) { now.classes.push_back("eel"); }),
            Differences("3 classes instead of 2: class 2, 'eel', is new", ""));
  EXPECT_EQ(differences_after([](Known& now) { now.classes.pop_back(); }),
            Differences("1 class instead of 2: class 1, 'dog', is gone", ""));
}

TEST(DataIdentity, tells_how_many_samples_there_are) {
  EXPECT_EQ(differences_after([](Known& now) { now.train.pop_back(); }),
            Differences("", "2 training samples instead of 3"));
  EXPECT_EQ(differences_after([](Known& now) {
              now.train.push_back({"d.jpg", 0, 1});
              now.test.clear();
            }),
            Differences("", "4 training samples instead of 3; 0 test samples instead of 1"));
}

TEST(DataIdentity, tells_that_samples_are_others) {
  const Differences others("", "as many training samples, but other keys, sizes or labels");
  EXPECT_EQ(differences_after([](Known& now) { now.train[1].key = "x.jpg"; }), others);
  EXPECT_EQ(differences_after([](Known& now) { now.train[1].bytes = 21; }), others);
  EXPECT_EQ(differences_after([](Known& now) { now.train[1].label = 0; }), others);
  EXPECT_EQ(differences_after([](Known& now) { std::swap(now.train[1], now.train[2]); }), others);
}

TEST(DataIdentity, of_many_classes_says_no_name) {
  Known before, now;
  before.classes = std::vector<std::string>(20'000, "classes");
  now.classes = before.classes;
  now.classes[7] = "another";
  EXPECT_TRUE(identified(before).names.empty());
  EXPECT_EQ(other_classes(identified(before), identified(now)), "other names");
  now.classes.pop_back();
  EXPECT_EQ(other_classes(identified(before), identified(now)), "19999 classes instead of 20000");
}

}  // namespace
}  // namespace stoker
