#include "io/metrics/record/figure_table.h"

namespace stoker {
namespace {

using enum FigureKind;

constexpr const char* kOfAll = "Every rank tells rank 0 whenever there is a report.";

// A figure that each rank has; a run of one rank has no such figure. `read` takes it from a
// RankTimes.
template <class F>
Read by_rank(F read) {
  return several([read](const RunRecord& record, const auto& add) {
    const std::vector<RankTimes>& ranks = record.run.ranks;
    for (size_t i = 0; i < ranks.size(); ++i) add({std::to_string(i)}, Value(read(ranks[i])));
  });
}

// The same with one more label, an enumerator. `array` takes the values, by enumerator, from a
// RankTimes.
template <class E, class F>
Read by_rank_and(const char* (*name)(E), F array) {
  return several([name, array](const RunRecord& record, const auto& add) {
    const std::vector<RankTimes>& ranks = record.run.ranks;
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      const auto numbers = array(ranks[rank]);
      for (size_t i = 0; i < numbers.size(); ++i) {
        add({std::to_string(rank), name(static_cast<E>(i))}, Value(numbers[i]));
      }
    }
  });
}

}  // namespace

std::vector<Figure> rank_figures() {
  using R = const RankTimes&;
  return {
      {"ranks.{rank}.images", counter, Unit::none, "The images of each rank.", kOfAll,
       by_rank([](R r) { return static_cast<double>(r.images); })},
      {"ranks.{rank}.wall_s", counter, Unit::seconds, "The wall_s of each rank.", kOfAll,
       by_rank([](R r) { return r.wall_s; })},
      {"ranks.{rank}.segments_s.{segment}", counter, Unit::seconds, "The segments_s of each rank.",
       kOfAll, by_rank_and(segment_name, [](R r) { return r.segments; })},
      {"ranks.{rank}.segments_share.{segment}", quotient, Unit::share,
       "The segments_share of each rank: its segments_s / wall_s.", kOfAll,
       by_rank_and(segment_name, [](R r) { return shares(r.segments, r.wall_s); })},
      {"ranks.{rank}.device_busy_s", counter, Unit::seconds, "The device.busy_s of each rank.",
       kOfAll, by_rank([](R r) { return r.busy_s; })},
      {"ranks.{rank}.device_idle_s.{cause}", counter, Unit::seconds,
       "The device.idle_s of each rank.", kOfAll,
       by_rank_and(idle_cause_name, [](R r) { return r.idle; })},
      {"ranks.{rank}.idle_share_by_cause.{cause}", quotient, Unit::share,
       "The device.idle_share_by_cause of each rank.", kOfAll,
       by_rank_and(idle_cause_name, [](R r) { return shares(r.idle, r.observed_s); })},
      {"ranks.{rank}.images_per_s", quotient, Unit::per_s,
       "The images_per_s of each rank: its images / wall_s.", kOfAll,
       several([](const RunRecord& record, const auto& add) {
         const std::vector<RankTimes>& ranks = record.run.ranks;
         for (size_t i = 0; i < ranks.size(); ++i) {
           add({std::to_string(i)}, ratio(static_cast<double>(ranks[i].images), ranks[i].wall_s));
         }
       })},
  };
}

}  // namespace stoker
