#include "io/storage/emulated/tier_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "io/storage/emulated/tier_figures.h"

namespace stoker {
namespace {

using namespace std::chrono_literals;
using Kind = TierOperation::Kind;

constexpr TimePoint kStart{1000s};

TierDevice device_of(TierCosts costs) { return {costs, std::make_shared<TierShare>()}; }

// 1 MB/s, 10 ms, seek 5 ms: long enough to be told apart.
TierCosts plain() {
  return {.read_bytes_per_s = 1e6,
          .write_bytes_per_s = 2e6,
          .read_latency = 10ms,
          .write_latency = 20ms,
          .metadata_latency = 30ms};
}

// n threads that do nothing but operations, one after the other, in the order of their time: what
// TierModel does, without any clock.
class Threads {
 public:
  using Next = std::function<TierOperation(int thread, int operation)>;

  // Operations per second of all, over `span`, the first tenth left out.
  static double rate(TierDevice device, int threads, Clock::duration span, const Next& next) {
    const auto later = [](const Event& a, const Event& b) { return a.at > b.at; };
    std::priority_queue<Event, std::vector<Event>, decltype(later)> events(later);
    std::vector<int> counts(static_cast<size_t>(threads));
    for (int i = 0; i < threads; ++i) events.push({kStart, i, {}, {}, true});
    int64_t done = 0;
    while (events.top().at < kStart + span) {
      Event event = events.top();
      events.pop();
      if (event.arrives) {
        event.operation = next(event.thread, counts[static_cast<size_t>(event.thread)]++);
        const TierDevice::Admission admission = device.admit(event.at, event.operation);
        event.at = admission.ready;
        event.arm = admission.arm;
        event.arrives = false;
      } else if (event.operation.bytes > 0) {
        const auto piece = device.transfer({event.at, event.operation.kind, event.operation.bytes,
                                            std::exchange(event.arm, Clock::duration{})});
        event.operation.bytes -= piece.bytes;
        event.at = piece.end;
      } else {
        if (event.at > kStart + span / 10) ++done;
        event.arrives = true;
      }
      events.push(event);
    }
    return static_cast<double>(done) / (0.9 * seconds(span));
  }

 private:
  struct Event {
    TimePoint at;
    int thread;
    TierOperation operation;
    Clock::duration arm;
    bool arrives;
  };
};

TierOperation another_file(int thread, int operation, uint64_t bytes, Kind kind = Kind::read) {
  return {kind, bytes, 1000000 * static_cast<uint64_t>(thread) + static_cast<uint64_t>(operation)};
}

// Whatever the profile, the threads and the size.
double closed_form(const TierCosts& costs, int threads, uint64_t bytes) {
  const double latency = seconds(costs.read_latency + costs.seek);
  const double size = static_cast<double>(bytes);
  const double pipe = size / costs.read_bytes_per_s;
  const double own = costs.stream_bytes_per_s > 0 ? size / costs.stream_bytes_per_s : pipe;
  return std::min({threads / (latency + own), costs.queue_depth / latency,
                   1 / (seconds(costs.seek) / costs.queue_depth + pipe)});
}

TEST(TierDevice, threads_get_what_the_profile_says) {
  for (const auto& [name, profile] : enum_names(TierProfile{})) {
    const TierCosts costs = TierFigures{.profile = profile, .latency_sigma = 0}.costs();
    for (const uint64_t bytes : {4096ull, 112'000ull, 8ull << 20}) {
      for (const int threads : {1, 2, 3, 4, 8, 16}) {
        const double expected = closed_form(costs, threads, bytes);
        const auto span = std::chrono::duration_cast<Clock::duration>(
            std::chrono::duration<double>(2000 / expected + 20 * threads / expected));
        const double rate = Threads::rate(device_of(costs), threads, span,
                                          [&](int t, int i) { return another_file(t, i, bytes); });
        EXPECT_NEAR(rate / expected, 1, 0.03) << name << ", " << threads << " x " << bytes;
      }
    }
  }
}

TEST(TierDevice, drawn_latencies_cost_little_more_than_their_mean) {
  TierCosts costs = TierFigures{.profile = TierProfile::ssd, .latency_sigma = 0.5}.costs();
  for (const int threads : {1, 2, 4, 8, 10, 16}) {
    const double expected = closed_form(costs, threads, 512);
    const double rate = Threads::rate(device_of(costs), threads, 1s,
                                      [&](int t, int i) { return another_file(t, i, 512); });
    EXPECT_NEAR(rate / expected, 1, 0.03) << threads;
  }
}

TEST(TierDevice, the_scaling_that_the_study_found_follows_from_data_sheets_and_manuals) {
  const auto gain = [](TierProfile profile, int threads) {
    const TierCosts costs = TierFigures{.profile = profile}.costs();
    const auto next = [](int t, int i) { return another_file(t, i, 112'000); };
    return Threads::rate(device_of(costs), threads, 20s, next) /
           Threads::rate(device_of(costs), 1, 20s, next);
  };
  EXPECT_NEAR(gain(TierProfile::hdd, 2), 2, 0.05);
  EXPECT_NEAR(gain(TierProfile::hdd, 8), 2.02, 0.05);  // the study: 2.3
  EXPECT_NEAR(gain(TierProfile::lustre, 2), 2, 0.05);
  EXPECT_NEAR(gain(TierProfile::lustre, 8), 7.8, 0.3);
}

// What tf-Darshan (Chien et al., 2020) saw on a hard disk with large files: 16 threads read 0.82 of
// what one does.
TEST(TierDevice, streams_that_are_interleaved_seek_and_one_alone_does_not) {
  const auto read = [](int threads, uint64_t piece) {
    TierDevice device = device_of(TierFigures{.profile = TierProfile::hdd}.costs());
    return Threads::rate(device, threads, 20s, [&](int thread, int operation) {
      return TierOperation{Kind::read, piece, static_cast<uint64_t>(thread),
                           piece * static_cast<uint64_t>(operation)};
    });
  };
  EXPECT_NEAR(read(1, 1'000'000), 163 / 1.0163, 1);  // the bandwidth, and 0.1 ms for each
  EXPECT_NEAR(read(16, 1'000'000) / read(1, 1'000'000), 0.52, 0.02);
  EXPECT_NEAR(read(16, 8'000'000) / read(1, 8'000'000), 0.89, 0.02);
  EXPECT_LT(read(16, 100'000) / read(1, 100'000), 0.2);
}

struct Seeks : testing::Test {
  TierCosts costs = [] {
    TierCosts with_seek = plain();
    with_seek.seek = 5ms;
    return with_seek;
  }();
  TierDevice device = device_of(costs);
  TimePoint now = kStart;
  // Whether this operation seeks.
  bool seeks(Kind kind, uint64_t object, uint64_t offset, uint64_t bytes = 1000) {
    now += 1h;
    const Clock::duration latency = device.admit(now, {kind, bytes, object, offset}).ready - now;
    const Clock::duration without = kind == Kind::read ? 10ms : 20ms;
    EXPECT_TRUE(latency == without || latency == without + 5ms) << latency.count();
    return latency != without;
  }
};

TEST_F(Seeks, what_goes_on_where_the_last_one_ended_does_not) {
  EXPECT_TRUE(seeks(Kind::read, 1, 0));
  EXPECT_FALSE(seeks(Kind::read, 1, 1000));
  EXPECT_FALSE(seeks(Kind::read, 1, 2000));
  EXPECT_TRUE(seeks(Kind::read, 1, 2000));   // again
  EXPECT_TRUE(seeks(Kind::read, 1, 3001));   // a gap
  EXPECT_TRUE(seeks(Kind::read, 2, 4001));   // another object
  EXPECT_TRUE(seeks(Kind::write, 2, 5001));  // the other direction
  EXPECT_FALSE(seeks(Kind::write, 2, 6001));
}

TEST_F(Seeks, what_moves_nothing_does_not_and_leaves_the_arm_where_it_is) {
  EXPECT_TRUE(seeks(Kind::read, 1, 0));
  EXPECT_FALSE(seeks(Kind::read, 2, 7000, 0));
  EXPECT_FALSE(seeks(Kind::read, 1, 1000));
}

TEST_F(Seeks, two_streams_seek_at_every_operation) {
  for (uint64_t i = 0; i < 10; ++i) {
    EXPECT_TRUE(seeks(Kind::read, 1, 1000 * i));
    EXPECT_TRUE(seeks(Kind::read, 2, 1000 * i));
  }
}

TEST_F(Seeks, neighbouring_writes_are_put_in_order) {
  EXPECT_TRUE(seeks(Kind::write, 1, 0));
  for (const uint64_t offset : {2000, 1000, 4000, 3000, 8000, 5000}) {
    EXPECT_FALSE(seeks(Kind::write, 1, offset));
  }
  EXPECT_TRUE(seeks(Kind::write, 1, 100'000));
}

TEST_F(Seeks, metadata_neither_seeks_nor_disturbs) {
  seeks(Kind::read, 1, 0);
  now += 1h;
  EXPECT_EQ(device.admit(now, {Kind::metadata}).ready - now, 30ms);
  EXPECT_FALSE(seeks(Kind::read, 1, 1000));
}

TEST(TierDevice, as_many_latencies_as_the_queue_is_deep_pass_together) {
  TierCosts costs = plain();
  costs.queue_depth = 2.5;
  TierDevice device = device_of(costs);
  std::vector<Clock::duration> ends;
  for (int i = 0; i < 6; ++i) ends.push_back(device.admit(kStart, {Kind::metadata}).ready - kStart);
  // 2.5 at once, then one every 12 ms.
  EXPECT_EQ(ends, (std::vector<Clock::duration>{30ms, 30ms, 36ms, 48ms, 60ms, 72ms}));
}

TEST(TierDevice, a_short_operation_overtakes_the_latency_of_a_long_one) {
  TierCosts costs = plain();
  costs.queue_depth = 2;
  TierDevice device = device_of(costs);
  const TimePoint slow = device.admit(kStart, {Kind::metadata}).ready;
  const TimePoint quick = device.admit(kStart, {Kind::read, 1000}).ready;
  EXPECT_EQ(slow - kStart, 30ms);
  EXPECT_EQ(quick - kStart, 10ms);
  EXPECT_EQ(device.transfer({quick, Kind::read, 1000}).end - kStart, 11ms);
}

TEST(TierDevice, a_large_transfer_gives_way) {
  TierDevice device = device_of({.read_bytes_per_s = 100e6, .read_latency = 1ms});
  const TierDevice::Piece first = device.transfer({kStart, Kind::read, 100'000'000});
  EXPECT_EQ(first.bytes, 200'000u);
  EXPECT_EQ(first.end - kStart, 2ms);
  const TierDevice::Piece small = device.transfer({kStart, Kind::read, 1000});
  EXPECT_EQ(small.end - kStart, 2010us);
  EXPECT_EQ(device.transfer({first.end, Kind::read, 99'800'000}).end - kStart, 4010us);
  // A rest that would be shorter than a piece goes with the last one.
  EXPECT_EQ(device.transfer({first.end, Kind::read, 399'000}).bytes, 399'000u);
}

TEST(TierDevice, the_pipe_is_empty_while_the_arm_moves) {
  TierDevice device =
      device_of({.read_bytes_per_s = 1e6, .read_latency = 1ms, .seek = 8ms, .queue_depth = 4});
  const TierDevice::Admission one = device.admit(kStart, {Kind::read, 1000, 1});
  const TierDevice::Admission two = device.admit(kStart, {Kind::read, 1000, 2});
  EXPECT_EQ(one.ready - kStart, 9ms);
  EXPECT_EQ(two.ready - kStart, 9ms);
  EXPECT_EQ(one.arm, 2ms);  // of its 8 the sorted queue saves the others
  EXPECT_EQ(device.transfer({one.ready, Kind::read, 1000, one.arm}).end - kStart, 10ms);
  EXPECT_EQ(device.transfer({two.ready, Kind::read, 1000, two.arm}).end - kStart, 13ms);
}

TEST(TierDevice, who_asks_late_is_served_as_if_on_time) {
  TierDevice device = device_of({.read_bytes_per_s = 1e6, .read_latency = 3ms});
  const TimePoint on_time = device.admit(kStart + 5ms, {Kind::read, 1000}).ready;
  EXPECT_EQ(on_time - kStart, 8ms);
  // By a thread that should have asked 5 ms before.
  EXPECT_EQ(device.admit(kStart, {Kind::read, 1000}, 5ms).ready - kStart, 6ms);
  EXPECT_EQ(device.transfer({on_time, Kind::read, 1000}).end - kStart, 9ms);
  EXPECT_EQ(device.transfer({kStart + 6ms, Kind::read, 1000, 0ms, 2ms}).end - kStart, 8ms);
  // Nothing is given away: the next one waits for both.
  EXPECT_EQ(device.transfer({kStart + 8ms, Kind::read, 1000}).end - kStart, 11ms);
  EXPECT_EQ(device.admit(kStart + 8ms, {Kind::read, 1000}).ready - kStart, 14ms);
}

TEST(TierDevice, a_stream_has_its_own_bandwidth_and_leaves_the_rest_to_others) {
  TierCosts costs = plain();
  costs.read_bytes_per_s = 100e6;
  costs.stream_bytes_per_s = 10e6;
  TierDevice device = device_of(costs);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(device.transfer({kStart, Kind::read, 10'000}).end - kStart, 1ms);
  }
  EXPECT_EQ(device.transfer({kStart, Kind::read, 10'000}).end - kStart, 1100us);
}

TEST(TierDevice, drawn_latencies_have_the_mean_and_the_spread_that_were_given) {
  TierCosts costs = plain();
  costs.latency_sigma = 0.5;
  TierDevice device = device_of(costs);
  std::vector<double> drawn;
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const TimePoint now = kStart + i * 1h;
    drawn.push_back(seconds(device.admit(now, {Kind::metadata}).ready - now));
    sum += drawn.back();
  }
  EXPECT_NEAR(sum / 10'000, 0.030, 0.015 * 0.030);
  std::sort(drawn.begin(), drawn.end());
  EXPECT_NEAR(drawn[5'000], 0.030 * std::exp(-0.125), 0.02 * 0.030);
  EXPECT_NEAR(drawn[9'900] / 0.030, 2.82, 0.2);  // as the help says
}

TEST(TierDevice, a_draw_depends_on_the_device_and_on_the_number_of_the_operation) {
  TierCosts costs = plain();
  costs.latency_sigma = 0.5;
  const auto draws = [](const TierCosts& of) {
    TierDevice device = device_of(of);
    std::vector<Clock::duration> result;
    for (int i = 0; i < 10; ++i) {
      const TimePoint now = kStart + i * 1h;
      result.push_back(device.admit(now, {Kind::metadata}).ready - now);
    }
    return result;
  };
  EXPECT_EQ(draws(costs), draws(costs));
  TierCosts other = costs;
  other.seed = 1;
  EXPECT_NE(draws(costs), draws(other));
}

// How long each of 10,000 reads of 1 kB takes that come one after the other: 11 ms by itself.
std::vector<Clock::duration> reads_of(const TierCosts& costs) {
  TierDevice device = device_of(costs);
  std::vector<Clock::duration> took;
  for (int i = 0; i < 10'000; ++i) {
    const TimePoint now = kStart + i * 1h;
    const auto [ready, arm, processes] = device.admit(now, {Kind::read, 1000});
    took.push_back(device.transfer({ready, Kind::read, 1000}).end - now);
  }
  return took;
}

TEST(TierDevice, a_share_of_reads_takes_so_many_times_longer_and_the_same_ones_every_time) {
  TierCosts costs = plain();
  costs.slow_fraction = 0.01;
  costs.slow_factor = 50;
  const std::vector<Clock::duration> took = reads_of(costs);
  const auto slow = std::count(took.begin(), took.end(), 50 * 11ms);
  EXPECT_NEAR(static_cast<double>(slow), 100, 30);
  EXPECT_EQ(std::count(took.begin(), took.end(), 11ms), 10'000 - slow);
  EXPECT_EQ(reads_of(costs), took);
  TierCosts other = costs;
  other.seed = 1;
  EXPECT_NE(reads_of(other), took);
}

TEST(TierDevice, a_slow_read_holds_up_no_other_and_no_write_is_slow) {
  TierCosts costs = plain();
  costs.slow_fraction = 1;
  costs.slow_factor = 100;
  TierDevice device = device_of(costs);
  EXPECT_EQ(device.admit(kStart, {Kind::read, 1000}).ready - kStart, 10ms + 99 * 11ms);
  EXPECT_EQ(device.admit(kStart + 10ms, {Kind::write, 1000}).ready - kStart, 30ms);
  EXPECT_EQ(device.admit(kStart + 30ms, {Kind::metadata}).ready - kStart, 60ms);
}

}  // namespace
}  // namespace stoker
