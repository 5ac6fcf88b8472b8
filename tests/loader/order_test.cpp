#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "io/core/random.h"
#include "io/loader/sampler.h"
#include "tests/support/errors.h"
#include "tests/support/fakes.h"

// loader.order: what holds for any number of files of any sizes.

namespace stoker {
namespace {

using testing::Each;
using testing::SizeIs;

constexpr uint64_t kSeed = 11;

// One experiment on some files, seen by all of its ranks.
struct Order {
  LoaderOptions options;
  int64_t world = 1;
  std::vector<int64_t> files{};  // by sample

  // As many files as there are sizes; `interleaved`: their samples lie in no order.
  static std::vector<int64_t> files_of(const std::vector<int64_t>& sizes, bool interleaved) {
    std::vector<int64_t> files;
    for (size_t file = 0; file < sizes.size(); ++file) {
      files.insert(files.end(), static_cast<size_t>(sizes[file]), static_cast<int64_t>(file));
    }
    Random random(1);
    for (size_t i = files.size(); interleaved && i > 1; --i) {
      std::swap(files[i - 1], files[random.below(i)]);
    }
    return files;
  }

  // A case out of many.
  static Order random(SampleOrder order, uint64_t number) {
    Random random(mix(kSeed, number));
    std::vector<int64_t> sizes(1 + random.below(12));
    for (int64_t& size : sizes) size = static_cast<int64_t>(1 + random.below(20));
    Order result;
    result.files = files_of(sizes, random.below(2) == 0);
    result.world = static_cast<int64_t>(1 + random.below(5));
    result.options.order = order;
    result.options.batch_size = result.world + static_cast<int64_t>(random.below(12));
    result.options.window = static_cast<int64_t>(1 + random.below(30));
    result.options.cycle_length = static_cast<int64_t>(1 + random.below(4));
    result.options.block_length = static_cast<int64_t>(1 + random.below(3));
    const bool too_few = std::ssize(result.files) < result.options.batch_size;
    result.options.drop_last = !too_few && random.below(2) == 0;
    return result;
  }

  FakeDataset dataset() const { return {std::ssize(files), {}, {}, files}; }
  Sampler sampler(int64_t rank) const {
    return {options, {rank, world}, dataset(), Split::train, kSeed};
  }
  // What a rank trains on, without fillers.
  std::vector<int64_t> samples(int64_t rank, int64_t epoch) const {
    const Sampler of = sampler(rank);
    std::vector<int64_t> samples = of.order(epoch).samples;
    const BatchPart last = of.part(of.batches() - 1);
    EXPECT_EQ(std::ssize(samples), last.begin + last.size);
    if (last.filler) samples.pop_back();
    return samples;
  }
  std::vector<int64_t> samples_of_all(int64_t epoch) const {
    std::vector<int64_t> all;
    for (int64_t rank = 0; rank < world; ++rank) {
      const std::vector<int64_t> own = samples(rank, epoch);
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  }
  // In the order in which they are read; a file that is read again is there again.
  std::vector<int64_t> files_read(int64_t rank, int64_t epoch) const {
    std::vector<int64_t> read;
    for (const int64_t sample : samples(rank, epoch)) {
      const int64_t file = files[static_cast<size_t>(sample)];
      if (read.empty() || read.back() != file) read.push_back(file);
    }
    return read;
  }
  std::set<int64_t> files_of(int64_t rank, int64_t epoch) const {
    const std::vector<int64_t> read = files_read(rank, epoch);
    return {read.begin(), read.end()};
  }
};

constexpr std::array kOrders{SampleOrder::permutation,  SampleOrder::window,
                             SampleOrder::local_files,  SampleOrder::global_files,
                             SampleOrder::local_window, SampleOrder::shards};
constexpr std::array kDealt{SampleOrder::local_files, SampleOrder::global_files};
constexpr std::array kKept{SampleOrder::local_files, SampleOrder::local_window};

// Calls it with some hundred experiments.
template <class Orders>
void each_case(const Orders& orders, const std::function<void(const Order&)>& call) {
  for (const SampleOrder order : orders) {
    for (uint64_t number = 0; number < 150; ++number) {
      SCOPED_TRACE(std::to_string(static_cast<int>(order)) + ", case " + std::to_string(number));
      call(Order::random(order, number));
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(SampleOrder, every_sample_is_once_in_an_epoch_and_only_the_last_small_batch_is_dropped) {
  each_case(kOrders, [](const Order& order) {
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      std::vector<int64_t> all = order.samples_of_all(epoch);
      std::ranges::sort(all);
      EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
      const int64_t samples = std::ssize(order.files);
      const int64_t rest = order.options.drop_last ? samples % order.options.batch_size : 0;
      EXPECT_EQ(std::ssize(all), samples - rest);
    }
  });
}

TEST(SampleOrder, all_ranks_have_as_many_batches_and_their_parts_are_the_whole) {
  each_case(kOrders, [](const Order& order) {
    const int64_t batches = order.sampler(0).batches();
    for (int64_t batch = 0; batch < batches; ++batch) {
      int64_t sum = 0;
      for (int64_t rank = 0; rank < order.world; ++rank) {
        const Sampler sampler = order.sampler(rank);
        EXPECT_EQ(sampler.batches(), batches);
        const BatchPart part = sampler.part(batch);
        EXPECT_GE(part.size, 1);
        if (!part.filler) sum += part.size;
      }
      EXPECT_EQ(sum, order.sampler(0).part(batch).whole);
    }
  });
}

TEST(SampleOrder, a_dropped_sample_is_another_one_in_another_epoch) {
  for (const SampleOrder kind : kOrders) {
    Order order{.options = {}, .world = 2, .files = Order::files_of({7, 7, 7, 7, 7}, false)};
    order.options.order = kind, order.options.batch_size = 8;
    std::set<int64_t> seen;
    for (int64_t epoch = 0; epoch < 8; ++epoch) {
      for (const int64_t sample : order.samples_of_all(epoch)) seen.insert(sample);
    }
    EXPECT_THAT(seen, SizeIs(35));
  }
}

TEST(SampleOrder, a_rank_reads_each_of_its_files_once_and_few_are_cut) {
  each_case(kDealt, [](const Order& order) {
    const auto files = static_cast<size_t>(*std::ranges::max_element(order.files) + 1);
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      size_t reads = 0;
      for (int64_t rank = 0; rank < order.world; ++rank) {
        const std::vector<int64_t> read = order.files_read(rank, epoch);
        EXPECT_EQ(read.size(), order.files_of(rank, epoch).size());
        reads += read.size();
      }
      EXPECT_LT(reads, files + static_cast<size_t>(order.world));
    }
  });
}

TEST(SampleOrder, equal_files_are_not_cut) {
  for (const SampleOrder kind : kDealt) {
    for (const int64_t world : {1, 2, 4}) {
      Order order{.options = {},
                  .world = world,
                  .files = Order::files_of(std::vector<int64_t>(8, 9), true)};
      order.options.order = kind, order.options.batch_size = 16, order.options.drop_last = false;
      for (int64_t epoch = 0; epoch < 3; ++epoch) {
        std::set<int64_t> all;
        for (int64_t rank = 0; rank < world; ++rank) {
          const std::set<int64_t> own = order.files_of(rank, epoch);
          EXPECT_EQ(std::ssize(own), 8 / world);
          all.insert(own.begin(), own.end());
        }
        EXPECT_THAT(all, SizeIs(8));
      }
    }
  }
}

TEST(SampleOrder, files_that_are_kept_stay_with_their_rank_and_come_in_a_new_order) {
  each_case(kKept, [](Order order) {
    order.options.drop_last = false;
    for (int64_t rank = 0; rank < order.world; ++rank) {
      std::vector<int64_t> first = order.samples(rank, 0);
      std::set<std::vector<int64_t>> orders{first};
      std::ranges::sort(first);
      for (int64_t epoch = 1; epoch < 6; ++epoch) {
        std::vector<int64_t> own = order.samples(rank, epoch);
        orders.insert(own);
        std::ranges::sort(own);
        EXPECT_EQ(own, first);
      }
      const bool window = order.options.order == SampleOrder::local_window;
      if (first.size() > 3 && !(window && order.options.window == 1)) {
        EXPECT_GT(orders.size(), 1u);
      }
    }
  });
}

Order eight_files(SampleOrder kind, int64_t world) {
  Order order{
      .options = {}, .world = world, .files = Order::files_of(std::vector<int64_t>(8, 16), false)};
  order.options.order = kind, order.options.batch_size = 16;
  return order;
}

TEST(SampleOrder, global_files_move_to_other_ranks) {
  const Order order = eight_files(SampleOrder::global_files, 2);
  std::set<int64_t> seen;
  std::set<std::set<int64_t>> deals;
  for (int64_t epoch = 0; epoch < 10; ++epoch) {
    const std::set<int64_t> own = order.files_of(0, epoch);
    deals.insert(own);
    seen.insert(own.begin(), own.end());
  }
  EXPECT_THAT(seen, SizeIs(8));
  EXPECT_GT(deals.size(), 5u);
}

TEST(SampleOrder, a_single_file_stays_where_that_is_asked_for) {
  for (const int64_t world : {4, 8}) {
    Order order = eight_files(SampleOrder::global_files, world);
    for (const bool stays : {false, true}) {
      order.options.single_file_stays = stays;
      std::set<std::set<int64_t>> deals;
      for (int64_t epoch = 0; epoch < 10; ++epoch) deals.insert(order.files_of(3, epoch));
      EXPECT_EQ(deals.size() == 1, stays && world == 8) << world;
    }
  }
}

TEST(SampleOrder, a_window_takes_no_sample_before_it_is_in_and_one_is_no_window) {
  each_case(std::array{SampleOrder::window, SampleOrder::local_window}, [](Order order) {
    if (order.options.order == SampleOrder::window) order.world = 1;
    order.options.drop_last = false;
    const int64_t window = order.options.window;
    for (int64_t rank = 0; rank < order.world; ++rank) {
      order.options.window = window;
      const std::vector<int64_t> taken = order.samples(rank, 2);
      order.options.window = 1;
      const std::vector<int64_t> came = order.samples(rank, 2);
      EXPECT_EQ(order.files_read(rank, 2).size(), order.files_of(rank, 2).size());
      for (int64_t i = 0; i < std::ssize(taken); ++i) {
        const auto at = std::ranges::find(came, taken[static_cast<size_t>(i)]) - came.begin();
        EXPECT_LT(at, i + window);
      }
    }
  });
}

TEST(SampleOrder, a_window_is_a_shuffle_and_new_in_every_epoch) {
  Order order = eight_files(SampleOrder::window, 1);
  order.options.window = 40;
  const std::vector<int64_t> first = order.files_read(0, 0);
  EXPECT_GT(first.size(), 32u);  // files come mixed
  EXPECT_NE(first, order.files_read(0, 1));
}

TEST(SampleOrder, shards_are_read_from_begin_to_end_and_each_once) {
  each_case(std::array{SampleOrder::shards}, [](Order order) {
    order.options.cycle_length = order.options.block_length = 1;
    std::map<int64_t, int64_t> begun;  // how often a file is read from another place than its last
    for (int64_t rank = 0; rank < order.world; ++rank) {
      std::map<int64_t, int64_t> last;
      int64_t file = -1;
      for (const int64_t sample : order.sampler(rank).order(2).reading) {
        const int64_t own = order.files[static_cast<size_t>(sample)];
        const bool goes_on = own == file && last.at(own) < sample;
        if (!goes_on) ++begun[own];
        last[file = own] = sample;
      }
    }
    // A cut between two ranks, and the place at which a rank begins, are one more each.
    int64_t more = 0;
    for (const auto& [file, times] : begun) more += times - 1;
    EXPECT_LE(more, 2 * order.world - 1);
  });
}

TEST(SampleOrder, a_stretch_of_shards_has_the_samples_that_are_read_for_it_in_another_order) {
  each_case(std::array{SampleOrder::shards}, [](const Order& order) {
    for (int64_t rank = 0; rank < order.world; ++rank) {
      const EpochOrder epoch = order.sampler(rank).order(1);
      ASSERT_EQ(epoch.stretch, order.options.window);
      const int64_t size = std::ssize(epoch.reading);
      for (int64_t begin = 0; begin < size; begin += epoch.stretch) {
        const int64_t end = std::min(size, begin + epoch.stretch);
        const std::multiset read(epoch.reading.begin() + begin, epoch.reading.begin() + end);
        EXPECT_EQ(read, std::multiset(epoch.samples.begin() + begin, epoch.samples.begin() + end));
      }
    }
  });
}

TEST(SampleOrder, shards_are_read_in_turn_as_by_interleave) {
  Order order{.options = {}, .files = Order::files_of({4, 4, 4, 4}, false)};
  order.options.order = SampleOrder::shards, order.options.batch_size = 16;
  order.options.cycle_length = 2, order.options.block_length = 2;
  std::vector<int64_t> files;
  const EpochOrder epoch = order.sampler(0).order(0);
  for (const int64_t sample : epoch.reading) {
    files.push_back(order.files[static_cast<size_t>(sample)]);
  }
  // Wherever it begins: two of one file, two of another, and again.
  for (size_t i = 0; i < files.size(); ++i) {
    int64_t near = 0;
    for (const size_t other : {i + 1, i + 15}) near += files[other % 16] == files[i] ? 1 : 0;
    EXPECT_EQ(near, 1) << i;
  }
}

TEST(SampleOrder, shards_come_in_a_new_order_from_a_new_place_and_mixed) {
  const Order order = eight_files(SampleOrder::shards, 1);
  const EpochOrder first = order.sampler(0).order(0), second = order.sampler(0).order(1);
  EXPECT_NE(first.reading, second.reading);
  EXPECT_NE(first.samples, first.reading);
  Order single = order;
  single.files = std::vector<int64_t>(40, 0);
  std::set<int64_t> begins;
  for (int64_t epoch = 0; epoch < 10; ++epoch) {
    begins.insert(single.sampler(0).order(epoch).reading.front());
  }
  EXPECT_GT(begins.size(), 5u);
}

TEST(SampleOrder, evaluation_knows_no_order) {
  for (const SampleOrder kind : kOrders) {
    LoaderOptions options;
    options.order = kind, options.batch_size = 8;
    const FakeDataset dataset(50);
    const auto samples = Sampler(options, {0, 1}, dataset, Split::test, 3).order(1).samples;
    EXPECT_THAT(samples, SizeIs(50));
    EXPECT_TRUE(std::ranges::is_sorted(samples));
  }
}

TEST(SampleOrder, in_an_evaluation_each_sample_is_once_and_a_rank_reads_files_of_its_own) {
  each_case(
      std::array{SampleOrder::local_files, SampleOrder::global_files, SampleOrder::local_window,
                 SampleOrder::shards},
      [](const Order& order) {
        std::vector<int64_t> all;
        int64_t reads = 0;
        for (int64_t rank = 0; rank < order.world; ++rank) {
          const Sampler of(order.options, {rank, order.world}, order.dataset(), Split::test, kSeed);
          std::vector<int64_t> own = of.order(0).samples;
          if (of.part(of.batches() - 1).filler) own.pop_back();
          int64_t last = -1;
          for (const int64_t sample : own) {
            const int64_t file = order.files[static_cast<size_t>(sample)];
            if (file != last) ++reads;
            last = file;
          }
          all.insert(all.end(), own.begin(), own.end());
        }
        EXPECT_LT(reads, *std::ranges::max_element(order.files) + 1 + order.world);
        std::ranges::sort(all);
        EXPECT_EQ(std::ssize(all), std::ssize(order.files));
        EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
      });
}

TEST(SampleOrder, what_makes_no_sense_is_refused) {
  const auto refused = [](const std::string& options) {
    return error_of(
        [&] { parse_component<Loader>(parse_yaml("{type: sync, " + options + "}", "t.yaml")); });
  };
  for (const char* order : {"window", "local_files", "global_files", "local_window", "shards"}) {
    EXPECT_EQ(refused(std::string("shuffle: false, order: ") + order),
              "t.yaml:1:37: loader: 'order' says how samples are shuffled, and shuffle is false: "
              "set loader.order=permutation, or leave shuffle out");
  }
  EXPECT_EQ(refused("single_file_stays: true, order: local_files"),
            "t.yaml:1:33: loader: 'single_file_stays' is for order: global_files: set that, or "
            "leave it out");
  EXPECT_EQ(refused("cycle_length: 4"),
            "t.yaml:1:28: loader: 'cycle_length' is for order: shards: set that, or leave it out");
}

}  // namespace
}  // namespace stoker
