#include <gtest/gtest.h>

#include <set>

#include "io/loader/lmdbio/record_pages.h"

namespace stoker {
namespace {

TEST(PageGuess, begins_with_the_third_fetch) {
  PageGuess guess;
  EXPECT_EQ(guess.next(), PageSpan());
  guess.used({2, 10});
  EXPECT_EQ(guess.next(), PageSpan());
  guess.used({18, 26});  // 8 pages, stride 8
  EXPECT_EQ(guess.next(), (PageSpan{34, 42}));
}

TEST(PageGuess, grows_by_what_strides_and_fetches_differ_by) {
  PageGuess guess;
  guess.used({0, 10});
  guess.used({20, 32});  // 12 pages, stride 10
  guess.used({39, 48});  // 9 pages, stride 7
  EXPECT_EQ(guess.next(), (PageSpan{48 + 7, 48 + 7 + 3 + 12}));
}

TEST(PageGuess, of_a_new_epoch_waits_for_its_first_fetch_and_keeps_what_it_knows) {
  PageGuess guess;
  guess.used({0, 10});
  guess.used({20, 30});
  guess.start_again();
  EXPECT_EQ(guess.next(), PageSpan());
  guess.used({0, 10});
  EXPECT_EQ(guess.next(), (PageSpan{20, 30}));
}

TEST(PageGuess, never_begins_in_front_of_the_file) {
  PageGuess guess;
  guess.used({50, 60});
  guess.used({0, 10});  // stride -60
  EXPECT_EQ(guess.next().first, 0);
}

TEST(PageGuess, what_is_missed_and_what_is_extra_is_what_sets_of_pages_say) {
  const auto all = [](const PageSpan& span) {
    std::set<int64_t> pages;
    for (int64_t page = span.first; page < span.last; ++page) pages.insert(page);
    return pages;
  };
  const PageSpan used{10, 14};
  for (int64_t first = 5; first < 20; ++first) {
    for (int64_t last = first + 1; last < 22; ++last) {
      const PageSpan guessed{first, last};
      const RecordReadCosts costs = missed_and_extra(guessed, used);
      int64_t missed = 0, extra = 0, extra_left = 0;
      for (const int64_t page : all(used)) missed += all(guessed).contains(page) ? 0 : 1;
      for (const int64_t page : all(guessed)) extra += all(used).contains(page) ? 0 : 1;
      for (const int64_t page : all(guessed)) extra_left += page < used.first ? 1 : 0;
      EXPECT_EQ(costs.pages_missed_left + costs.pages_missed_right, missed);
      EXPECT_EQ(costs.pages_extra_left + costs.pages_extra_right, extra);
      EXPECT_EQ(costs.pages_extra_left, extra_left);
    }
  }
  EXPECT_EQ(missed_and_extra({}, used).pages_missed_right, 4);
}

}  // namespace
}  // namespace stoker
