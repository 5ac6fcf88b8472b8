#include "app/tools/tune/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "app/tools/tune/ways.h"
#include "io/core/error.h"

// The search by a table in the place of a machine: what it finds, and by how many runs.

namespace stoker {
namespace {

// Rates of a pipeline: the device, or the workers, or, without batches ahead, one after the other.
double tune_rate(const TuneCandidate& each, double device, double worker, int64_t most) {
  const double loads = worker * static_cast<double>(std::min(each.workers, most));
  if (each.prefetch > 0) return std::min(device, loads * (each.prefetch == 1 ? 0.95 : 1));
  return 1 / (1 / device + 1 / loads);
}

class TuneTable {
 public:
  TuneTable(double device, double worker, int64_t most)
      : device_(device), worker_(worker), most_(most) {
    for (const int64_t workers : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32}) {
      add({0, "threaded", workers, 0});
      for (const int64_t prefetch : {1, 2, 4, 8}) add({0, "prefetched", workers, prefetch});
    }
  }
  // What the predictions take the workers and the device for.
  TuneTable& predict(double device, double worker, int64_t most) {
    for (TuneCandidate& each : all) each.predicted = tune_rate(each, device, worker, most);
    return *this;
  }
  TuneFound search(int64_t most_runs = 1000, bool least_memory = false) {
    TuneSearchOptions options;
    options.least_memory = least_memory;
    return search_settings(all, options, [&](const TuneCandidate& each, double) {
      if (runs == most_runs) return std::optional<TuneMeasured>();
      ++runs;
      // Half a percent of noise, the same for a run of the same number.
      const double noise = 1 + 0.005 * std::sin(static_cast<double>(7 * runs));
      TuneMeasured found;
      found.limit = device_;
      const double rate = std::min(device_, noise * tune_rate(each, device_, worker_, most_));
      for (const double piece : {0.99, 1.0, 1.01}) found.pieces.push_back({rate * piece, 1});
      return std::optional(found);
    });
  }
  double best() const {
    double rate = 0;
    for (const TuneCandidate& each : all) {
      rate = std::max(rate, tune_rate(each, device_, worker_, most_));
    }
    return rate;
  }
  double share(const TuneFound& found) const {
    return tune_rate(all[found.trials[found.chosen].candidate], device_, worker_, most_) / best();
  }
  const TuneCandidate& chosen(const TuneFound& found) const {
    return all[found.trials[found.chosen].candidate];
  }

  std::vector<TuneCandidate> all;
  int64_t runs = 0;

 private:
  void add(TuneCandidate each) {
    each.memory = static_cast<uint64_t>(10 * (each.prefetch + 2) + each.workers);
    all.push_back(std::move(each));
  }
  const double device_, worker_;
  const int64_t most_;
};

TEST(TuneSearch, a_good_prediction_needs_few_runs) {
  TuneTable table(1000, 100, 64);
  const TuneFound found = table.predict(1000, 100, 64).search();
  EXPECT_GE(table.share(found), 0.985);
  EXPECT_EQ(table.chosen(found).loader, "prefetched");
  EXPECT_LE(table.chosen(found).workers, 12);
  EXPECT_LE(table.runs, 20);
}

TEST(TuneSearch, a_wrong_prediction_is_found_out) {
  // Workers are taken for three times as fast as they are.
  TuneTable slow(1000, 60, 64);
  EXPECT_GE(slow.share(slow.predict(1000, 180, 64).search()), 0.97);
  EXPECT_LE(slow.runs, 24);
  // More than four of them bring nothing, which no prediction knows.
  TuneTable few(1000, 60, 4);
  const TuneFound found = few.predict(1000, 60, 64).search();
  EXPECT_GE(few.share(found), 0.97);
  EXPECT_LE(few.runs, 30);
}

TEST(TuneSearch, it_does_without_predictions) {
  TuneTable table(400, 50, 16);
  const TuneFound found = table.search();
  EXPECT_GE(table.share(found), 0.97);
}

TEST(TuneSearch, equal_rates_take_the_least_memory) {
  // One worker and one batch ahead feed this device.
  TuneTable table(50, 100, 64);
  const TuneFound found = table.predict(50, 100, 64).search();
  EXPECT_EQ(table.chosen(found).workers, 1);
  EXPECT_EQ(table.chosen(found).prefetch, 1);
  // What gives 99 % of it in less memory is a loader without batches ahead, and many workers.
  TuneTable least(50, 1000, 64);
  const TuneFound spare = least.predict(50, 1000, 64).search(1000, true);
  EXPECT_EQ(least.chosen(spare).loader, "threaded");
  EXPECT_GE(least.share(spare), 0.985);
}

TEST(TuneSearch, it_ends_when_the_time_is_over_with_what_it_has) {
  TuneTable table(1000, 100, 64);
  const TuneFound found = table.predict(1000, 100, 64).search(3);
  EXPECT_EQ(table.runs, 3);
  EXPECT_EQ(found.trials.size(), 3u);
  EXPECT_GE(table.share(found), 0.97);
}

TEST(TuneSearch, what_cannot_run_is_left_out_and_named) {
  TuneTable table(1000, 100, 64);
  table.predict(1000, 100, 64);
  const TuneFound found = search_settings(
      table.all, {}, [](const TuneCandidate& each, double) -> std::optional<TuneMeasured> {
        if (each.loader == "prefetched") throw Error(ExitCode::config, "there is no such loader");
        return TuneMeasured{{{double(each.workers), 1}}, 0};
      });
  EXPECT_EQ(table.chosen(found).loader, "threaded");
  EXPECT_TRUE(std::ranges::any_of(found.trials, [](const TuneTrial& trial) {
    return trial.failed == "there is no such loader" && trial.rate.value == 0;
  }));
  const TuneMeasure nothing = [](const TuneCandidate&, double) -> std::optional<TuneMeasured> {
    throw Error(ExitCode::config, "nothing works");
  };
  EXPECT_THROW(search_settings(table.all, {}, nothing), Error);
}

TEST(TuneSearch, a_signal_ends_it) {
  TuneTable table(1000, 100, 64);
  const TuneMeasure stopped = [](const TuneCandidate&, double) -> std::optional<TuneMeasured> {
    throw Error(ExitCode::sigterm, "stopped");
  };
  EXPECT_THROW(search_settings(table.all, {}, stopped), Error);
}

TEST(TuneWays, overrides_in_one_word_are_parted_at_blanks) {
  EXPECT_EQ(words_of_overrides("a.b=c  d={x: 1, y: [2, 3]} e='f g'"),
            (std::vector<std::string>{"a.b=c", "d={x: 1, y: [2, 3]}", "e='f g'"}));
  EXPECT_TRUE(words_of_overrides(" ").empty());
}

}  // namespace
}  // namespace stoker
