#include "app/tools/tune/search.h"

#include <algorithm>
#include <cmath>

#include "app/tools/doctor/short_run.h"
#include "io/core/error.h"

namespace stoker {
namespace {

// Predictions that are as good as one another, and ways that are worth a try.
constexpr double kAsGood = 0.985, kWorthATry = 0.9;
// A rate that is better than another one, and the share of the device's rate that is all of it.
constexpr double kBetter = 1.01, kAll = 0.99;
constexpr size_t kStarters = 8;
constexpr int kFailures = 3;

class Search {
 public:
  Search(const std::vector<TuneCandidate>& candidates, const TuneSearchOptions& options,
         const TuneMeasure& measure)
      : candidates_(candidates), options_(options), measure_(measure) {}

  TuneFound run() {
    begin();
    halve();
    climb();
    descend();
    if (rated().empty()) {
      const std::string why = trials_.empty() ? "there was no time" : trials_.front().failed;
      throw Error(ExitCode::environment, "tune: nothing could be measured: " + why);
    }
    confirm();
    return {trials_, choice()};
  }

 private:
  const TuneCandidate& of(const TuneTrial& trial) const { return candidates_[trial.candidate]; }
  bool tried(size_t candidate) const {
    return std::ranges::any_of(trials_,
                               [&](const TuneTrial& each) { return each.candidate == candidate; });
  }
  // Those that have a rate.
  std::vector<size_t> rated() const {
    std::vector<size_t> result;
    for (size_t i = 0; i < trials_.size(); ++i) {
      if (trials_[i].rate.value > 0) result.push_back(i);
    }
    return result;
  }
  // A trial's number. There must be one with a rate.
  size_t best() const {
    const std::vector<size_t> all = rated();
    return *std::ranges::max_element(all, {}, [&](size_t i) { return trials_[i].rate.value; });
  }
  // The cheapest that is as good as the best.
  size_t choice() const {
    const double enough = (options_.least_memory ? 0.99 : 0.995) * trials_[best()].rate.value;
    size_t chosen = best();
    for (const size_t i : rated()) {
      if (trials_[i].rate.value >= enough && of(trials_[i]).cheaper(of(trials_[chosen]))) {
        chosen = i;
      }
    }
    return chosen;
  }

  // Runs a candidate, perhaps once more. False: there is no time left.
  bool measure(size_t candidate, double seconds) {
    auto trial = std::ranges::find(trials_, candidate, &TuneTrial::candidate);
    if (trial == trials_.end()) {
      trials_.push_back({candidate, {}, {}, {}});
      trial = trials_.end() - 1;
    }
    try {
      std::optional<TuneMeasured> found = measure_(candidates_[candidate], seconds);
      if (!found) {
        if (trial->rate.value == 0) trials_.erase(trial);
        return false;
      }
      std::vector<Piece>& pieces = trial->measured.pieces;
      pieces.insert(pieces.end(), found->pieces.begin(), found->pieces.end());
      trial->measured.limit = std::max(trial->measured.limit, found->limit);
      if (!pieces.empty()) trial->rate = level_of(pieces);
      trial->failed = pieces.empty() ? "the run was too short for a rate" : "";
    } catch (const Error& error) {
      if (error.code() == ExitCode::sigint || error.code() == ExitCode::sigterm) throw;
      trial->failed = error.what();
    }
    return true;
  }

  // The cheapest candidate with this share of the best prediction among those that `fits` takes.
  template <class F>
  std::optional<size_t> cheapest(double share, F&& fits) const {
    double most = 0;
    for (const TuneCandidate& each : candidates_) {
      if (each.measurable && fits(each)) most = std::max(most, each.predicted);
    }
    std::optional<size_t> found;
    for (size_t i = 0; i < candidates_.size(); ++i) {
      const TuneCandidate& each = candidates_[i];
      if (!each.measurable || !fits(each) || each.predicted < share * most) continue;
      if (!found || each.cheaper(candidates_[*found])) found = i;
    }
    return found;
  }
  // The same by another loader, with as many batches ahead, or the nearest number that it can have.
  std::optional<size_t> with_loader(size_t from, const std::string& loader) const {
    TuneCandidate wanted = candidates_[from];
    wanted.loader = loader;
    std::optional<size_t> found;
    for (size_t i = 0; i < candidates_.size(); ++i) {
      TuneCandidate alike = candidates_[i];
      alike.prefetch = wanted.prefetch;
      if (!alike.same(wanted) || !candidates_[i].measurable) continue;
      const auto apart = [&](size_t each) {
        return std::abs(candidates_[each].prefetch - wanted.prefetch);
      };
      if (!found || apart(i) < apart(*found)) found = i;
    }
    return found;
  }
  // The next in one direction: of the same way and loader, with the other number as it is.
  std::optional<size_t> next(size_t from, int64_t TuneCandidate::*number, int direction) const {
    const TuneCandidate& here = candidates_[from];
    std::optional<size_t> found;
    for (size_t i = 0; i < candidates_.size(); ++i) {
      TuneCandidate alike = candidates_[i];
      const int64_t there = alike.*number;
      alike.*number = here.*number;
      if (!alike.same(here) || (there - here.*number) * direction <= 0 || !alike.measurable)
        continue;
      if (!found || (there - candidates_[*found].*number) * direction < 0) found = i;
    }
    return found;
  }
  std::vector<size_t> neighbours(size_t from) const {
    std::vector<size_t> result;
    const auto add = [&](std::optional<size_t> candidate) {
      if (candidate && !std::ranges::count(result, *candidate)) result.push_back(*candidate);
    };
    const std::optional<size_t> more = next(from, &TuneCandidate::workers, 1);
    if (more) add(next(*more, &TuneCandidate::workers, 1));  // a step is a half: two are a double
    add(next(from, &TuneCandidate::prefetch, 1));
    for (const TuneCandidate& other : candidates_) {
      if (other.loader != candidates_[from].loader) add(with_loader(from, other.loader));
    }
    add(more);
    add(next(from, &TuneCandidate::workers, -1));
    return result;
  }

  std::vector<size_t> starters() const {
    std::vector<size_t> result;
    const auto add = [&](std::optional<size_t> candidate) {
      if (candidate && result.size() < kStarters && !std::ranges::count(result, *candidate)) {
        result.push_back(*candidate);
      }
    };
    add(options_.first);
    const auto all = [](const TuneCandidate&) { return true; };
    const std::optional<size_t> good = cheapest(kAsGood, all);
    if (!good) return result;
    add(good);
    add(next(*good, &TuneCandidate::workers, 1));
    add(next(*good, &TuneCandidate::prefetch, 1));
    add(cheapest(1, all));
    const double enough = kWorthATry * candidates_[*good].predicted;
    const auto worth = [&](std::optional<size_t> candidate) {
      const bool is = candidate && candidates_[*candidate].predicted >= enough;
      return is ? candidate : std::nullopt;
    };
    for (const TuneCandidate& each : candidates_) {
      add(worth(cheapest(kAsGood, [&](const TuneCandidate& c) { return c.way == each.way; })));
    }
    for (const TuneCandidate& each : candidates_) {
      add(worth(cheapest(kAsGood, [&](const TuneCandidate& c) {
        return c.way == candidates_[*good].way && c.loader == each.loader;
      })));
    }
    return result;
  }
  void begin() {
    for (const size_t candidate : starters()) {
      if (!measure(candidate, options_.seconds)) return;
    }
  }

  void halve() {
    std::vector<size_t> order = rated();
    std::ranges::sort(order, std::greater(), [&](size_t i) { return trials_[i].rate.value; });
    const size_t half = std::min<size_t>(3, (order.size() + 1) / 2);
    for (size_t i = 0; i < std::min(half, order.size()); ++i) {
      // A choice is between two at least.
      const double share = trials_[order[i]].rate.high / trials_[order[0]].rate.value;
      if (i > 0 && share < 0.97) continue;
      if (!measure(trials_[order[i]].candidate, 2 * options_.seconds)) return;
    }
  }

  bool takes_all(const TuneTrial& trial) const {
    return trial.measured.limit > 0 && trial.rate.value >= kAll * trial.measured.limit;
  }
  void climb() {
    for (int failures = 0; failures < kFailures && !rated().empty();) {
      const TuneTrial before = trials_[best()];
      if (takes_all(before)) return;
      const std::vector<size_t> around = neighbours(before.candidate);
      const auto fresh = std::ranges::find_if(around, [&](size_t each) { return !tried(each); });
      if (fresh == around.end() || !measure(*fresh, 2 * options_.seconds)) return;
      const bool better = trials_[best()].rate.value > kBetter * before.rate.value;
      failures = better ? 0 : failures + 1;
    }
  }

  // Cheaper ones that are predicted to be as good, the cheapest first.
  void descend() {
    for (int failures = 0; failures < kFailures && !rated().empty();) {
      const TuneTrial& now = trials_[choice()];
      const double enough = kAll * of(now).predicted;
      std::optional<size_t> next;
      for (size_t i = 0; i < candidates_.size(); ++i) {
        const TuneCandidate& each = candidates_[i];
        if (!each.measurable || tried(i) || !each.cheaper(of(now)) || each.predicted < enough)
          continue;
        if (!next || each.cheaper(candidates_[*next])) next = i;
      }
      const size_t before = now.candidate;
      if (!next || !measure(*next, 2 * options_.seconds)) return;
      if (trials_[choice()].candidate == before) ++failures;
    }
  }

  // What is chosen by one short run alone may have been lucky.
  void confirm() {
    const size_t before = choice();
    if (!measure(trials_[before].candidate, 2 * options_.seconds)) return;
    const size_t now = choice();
    if (now != before) measure(trials_[now].candidate, 2 * options_.seconds);
  }

  const std::vector<TuneCandidate>& candidates_;
  const TuneSearchOptions& options_;
  const TuneMeasure& measure_;
  std::vector<TuneTrial> trials_;
};

}  // namespace

TuneFound search_settings(const std::vector<TuneCandidate>& candidates,
                          const TuneSearchOptions& options, const TuneMeasure& measure) {
  return Search(candidates, options, measure).run();
}

}  // namespace stoker
