#include "io/loader/lmdbio/group_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace stoker {
namespace {

// Every order of few records, with and without a smaller last batch.
void for_all_small_orders(const std::function<void(const GroupOrder&, int64_t records,
                                                   int64_t batch_size, int64_t batches)>& f) {
  for (const int64_t world : {1, 2, 3, 4, 5}) {
    for (int64_t node_size = 1; node_size <= world; ++node_size) {
      for (const int64_t coalesce : {1, 2, 3, 4, 7}) {
        for (int64_t batch_size = world; batch_size <= 2 * world + 1; ++batch_size) {
          for (const int64_t records : {1, 2, 5, 11, 12, 24, 25, 31}) {
            const int64_t all = (records + batch_size - 1) / batch_size;
            for (const int64_t batches : {all, records / batch_size}) {
              const GroupOrder order(records, batch_size, batches, world, node_size, coalesce);
              SCOPED_TRACE(testing::Message()
                           << records << " records, batches of " << batch_size << ", " << world
                           << " ranks, " << node_size << " a node, " << coalesce << " together");
              f(order, records, batch_size, batches);
            }
          }
        }
      }
    }
  }
}

TEST(GroupOrder, has_every_record_of_the_batches_once) {
  for_all_small_orders(
      [](const GroupOrder& order, int64_t records, int64_t batch_size, int64_t batches) {
        std::vector<int> seen(static_cast<size_t>(records));
        for (int64_t batch = 0; batch < batches; ++batch) {
          int64_t size = 0;
          for (int64_t rank = 0; rank < order.world(); ++rank) {
            const Records own = order.of_rank(batch, rank);
            size += own.count();
            for (int64_t i = own.first; i < own.last; ++i) ++seen.at(static_cast<size_t>(i));
          }
          ASSERT_EQ(size, std::min(batch_size, records - batch * batch_size));
        }
        const auto used = static_cast<size_t>(std::min(records, batches * batch_size));
        ASSERT_TRUE(std::all_of(seen.begin(), seen.begin() + static_cast<std::ptrdiff_t>(used),
                                [](int count) { return count == 1; }));
      });
}

TEST(GroupOrder, of_a_rank_lies_in_that_of_its_node_and_this_in_its_stretch) {
  for_all_small_orders([](const GroupOrder& order, int64_t, int64_t, int64_t batches) {
    for (int64_t batch = 0; batch < batches; ++batch) {
      for (int64_t rank = 0; rank < order.world(); ++rank) {
        const int64_t node = order.node_of(rank);
        const Records own = order.of_rank(batch, rank), part = order.of_node(batch, node);
        const Records stretch = order.node_stretch(batch, node);
        ASSERT_TRUE(part.first <= own.first && own.last <= part.last);
        ASSERT_TRUE(stretch.first <= part.first && part.last <= stretch.last);
        ASSERT_LE(part.count(), order.most_of_node());
        ASSERT_LE(stretch.count(), order.most_of_stretch());
      }
    }
  });
}

TEST(GroupOrder, stretches_lie_one_behind_the_other) {
  for_all_small_orders([](const GroupOrder& order, int64_t, int64_t batch_size, int64_t batches) {
    int64_t end = 0;
    for (int64_t batch = 0; batch < batches; batch += order.together(batch)) {
      ASSERT_EQ(order.together_from(batch), batch);
      ASSERT_EQ(end, batch * batch_size);
      for (int64_t node = 0; node < order.nodes(); ++node) {
        for (int64_t i = 0; i < order.together(batch); ++i) {
          ASSERT_EQ(order.node_stretch(batch + i, node), order.node_stretch(batch, node));
        }
        ASSERT_EQ(order.node_stretch(batch, node).first, end);
        end = order.node_stretch(batch, node).last;
      }
    }
  });
}

TEST(GroupOrder, of_batches_that_lie_alone_is_the_order_of_the_records) {
  for_all_small_orders(
      [](const GroupOrder& order, int64_t records, int64_t batch_size, int64_t batches) {
        for (int64_t batch = 0;
             batch < batches && order.together(0) == 1 && order.together(batch) == 1; ++batch) {
          const int64_t size = std::min(batch_size, records - batch * batch_size);
          for (int64_t rank = 0; rank < order.world(); ++rank) {
            const auto [first, last] = Shard{rank, order.world()}.places(size);
            ASSERT_EQ(order.of_rank(batch, rank),
                      (Records{batch * batch_size + first, batch * batch_size + last}));
          }
        }
      });
}

TEST(GroupOrder, without_batches_asks_for_nothing) {
  const GroupOrder order(0, 8, 0, 4, 2, 4);
  EXPECT_EQ(order.most_of_node(), 0);
  EXPECT_EQ(order.most_of_stretch(), 0);
}

}  // namespace
}  // namespace stoker
