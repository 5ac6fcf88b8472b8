#include "io/storage/expected_reads.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace stoker {
namespace {

// Reads of 10 bytes; which were begun, in order.
class ExpectedReadsOf30 : public testing::Test {
 protected:
  void expect(const std::string& keys) {
    for (const char key : keys) reads_.add({std::string(1, key), {}}, 10);
  }
  bool take(const std::string& key) {
    const std::optional<std::string> read = reads_.take(key, {});
    return read && *read == key;
  }

  std::string begun_;
  ExpectedReads<std::string> reads_{30, [this](const ExpectedRead& what) {
                                      if (what.key == "!") throw std::runtime_error("no");
                                      begun_ += what.key;
                                      return what.key;
                                    }};
};

TEST_F(ExpectedReadsOf30, as_many_are_begun_as_fit_and_the_next_when_one_is_taken) {
  expect("abcde");
  EXPECT_EQ(begun_, "abc");
  EXPECT_TRUE(take("b"));
  EXPECT_EQ(begun_, "abcd");
  EXPECT_FALSE(take("b")) << "it was taken";
  EXPECT_TRUE(take("a"));
  EXPECT_EQ(begun_, "abcde");
}

TEST_F(ExpectedReadsOf30, only_just_that_range_is_it) {
  reads_.add({"a", {0, 10}}, 10);
  EXPECT_FALSE(reads_.take("a", {0, 11}));
  EXPECT_FALSE(reads_.take("a", {}));
  EXPECT_TRUE(reads_.take("a", {0, 10}));
}

TEST_F(ExpectedReadsOf30, one_that_waits_is_the_readers_own_and_not_begun) {
  expect("abcde");
  EXPECT_FALSE(take("d"));
  EXPECT_TRUE(take("a"));
  EXPECT_EQ(begun_, "abce");
}

TEST_F(ExpectedReadsOf30, what_never_fits_is_known_or_cannot_be_begun_is_passed_over) {
  reads_.add({"large", {}}, 31);
  expect("aa!b");
  EXPECT_EQ(begun_, "ab");
  EXPECT_FALSE(take("!"));
}

TEST_F(ExpectedReadsOf30, what_is_never_asked_for_makes_room_in_the_end) {
  expect("abcdefgh");
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(take("z"));
  EXPECT_EQ(begun_, "abcdef") << "a, b and c were dropped";
  EXPECT_FALSE(take("a"));
  EXPECT_TRUE(take("d"));
}

TEST_F(ExpectedReadsOf30, an_object_that_changed_is_forgotten_and_its_room_is_free) {
  expect("abcde");
  reads_.forget("b");
  reads_.forget("e");
  EXPECT_EQ(begun_, "abcd");
  EXPECT_FALSE(take("b"));
  EXPECT_TRUE(take("d"));
}

}  // namespace
}  // namespace stoker
