#include "io/metrics/record/figure_table.h"

namespace stoker {
namespace {

using enum FigureKind;

constexpr const char* kReadClock =
    "The monotonic clock is read at the begin and the end of each stretch of a reading thread. "
    "user and kernel are from getrusage(RUSAGE_THREAD): their sum is exact, and their split goes "
    "by ticks.";
constexpr const char* kReadUsage = "getrusage(RUSAGE_THREAD) around the same stretches.";
constexpr const char* kReadCounted = "Counted by the reader.";

enum class ReadTime { wall, user, kernel, sleep, waiting, opening };
enum class Switches { voluntary, involuntary };
enum class Faults { minor, major };
enum class Pages { needed, fetched, missed_left, missed_right, extra_left, extra_right };

const char* read_time_name(ReadTime part) {
  constexpr std::array<const char*, 6> kNames{"wall",  "user",    "kernel",
                                              "sleep", "waiting", "opening"};
  return kNames[static_cast<size_t>(part)];
}
const char* switches_name(Switches kind) {
  return kind == Switches::voluntary ? "voluntary" : "involuntary";
}
const char* faults_name(Faults kind) { return kind == Faults::minor ? "minor" : "major"; }
const char* pages_name(Pages kind) {
  constexpr std::array<const char*, 6> kNames{"needed",       "fetched",    "missed_left",
                                              "missed_right", "extra_left", "extra_right"};
  return kNames[static_cast<size_t>(kind)];
}

std::array<double, 6> times_of(const RecordReadCosts& costs) {
  return {costs.wall_s,    costs.user_s,    costs.kernel_s,
          costs.sleep_s(), costs.waiting_s, costs.opening_s};
}
std::array<int64_t, 2> switches_of(const RecordReadCosts& costs) {
  return {costs.voluntary_switches, costs.involuntary_switches};
}
std::array<int64_t, 2> faults_of(const RecordReadCosts& costs) {
  return {costs.minor_faults, costs.major_faults};
}
std::array<int64_t, 6> pages_of(const RecordReadCosts& costs) {
  return {costs.pages_needed,       costs.pages_fetched,    costs.pages_missed_left,
          costs.pages_missed_right, costs.pages_extra_left, costs.pages_extra_right};
}

// Whose records were read: this rank's, those of each rank, those of all together. A visitor gets
// the labels and the costs of each whose loader reads records.
using Visitor = std::function<void(const std::vector<std::string>&, const RecordReadCosts&)>;

void this_rank(const RunRecord& record, const Visitor& visit) {
  for (const LoaderMeter::State& loader : record.loaders) {
    if (loader.split == "train" && loader.record_reads) visit({}, *loader.record_reads);
  }
}

void each_rank(const RunRecord& record, const Visitor& visit) {
  for (size_t rank = 0; rank < record.run.ranks.size(); ++rank) {
    const auto& costs = record.run.ranks[rank].record_reads;
    if (costs) visit({std::to_string(rank)}, *costs);
  }
}

void all_ranks(const RunRecord& record, const Visitor& visit) {
  std::optional<RecordReadCosts> sum;
  const Visitor add = [&sum](const auto&, const RecordReadCosts& costs) {
    if (!sum) sum.emplace();
    *sum += costs;
  };
  record.run.ranks.empty() ? this_rank(record, add) : each_rank(record, add);
  if (sum) visit({}, *sum);
}

using Whose = void (*)(const RunRecord&, const Visitor&);

// Labelled by kind, which is an enumerator.
template <class E, class F>
Read by_kind(Whose whose, const char* (*name)(E), F array) {
  return several([whose, name, array](const RunRecord& record, const auto& add) {
    whose(record, [&](std::vector<std::string> labels, const RecordReadCosts& costs) {
      labels.emplace_back();
      const auto numbers = array(costs);
      for (size_t i = 0; i < numbers.size(); ++i) {
        labels.back() = name(static_cast<E>(i));
        add(labels, Value(numbers[i]));
      }
    });
  });
}

Read count_of(Whose whose, int64_t RecordReadCosts::*member) {
  return several([whose, member](const RunRecord& record, const auto& add) {
    whose(record, [&](const std::vector<std::string>& labels, const RecordReadCosts& costs) {
      add(labels, Value(costs.*member));
    });
  });
}

// FamilyNames of the same six figures; one family for each Whose.
struct FamilyNames {
  const char* times;
  const char* switches;
  const char* faults;
  const char* pages;
  const char* requests;
  const char* bytes;
};

std::vector<Figure> family(const FamilyNames& names, Whose whose) {
  return {
      {names.times, counter, Unit::seconds,
       "Time of the threads that read records of a database. user, kernel and sleep divide wall: "
       "in user space, in the kernel, and without a core. waiting is the part of wall that was "
       "spent waiting for other ranks (barriers, the cursor, the turn to read). opening is not in "
       "wall: it ends when the first record can be read.",
       kReadClock, by_kind(whose, read_time_name, times_of)},
      {names.switches, counter, Unit::none, "Context switches of these threads while they read.",
       kReadUsage, by_kind(whose, switches_name, switches_of)},
      {names.faults, counter, Unit::none, "Page faults of these threads while they read.",
       kReadUsage, by_kind(whose, faults_name, faults_of)},
      {names.pages, counter, Unit::none,
       "Pages of the database. needed: those of the records that were asked for. fetched: those "
       "that a guess touched or an explicit read got. missed: needed and not fetched. extra: "
       "fetched and not needed, in front of (left) or behind (right) what was needed.",
       kReadCounted, by_kind(whose, pages_name, pages_of)},
      {names.requests, counter, Unit::none, "How many explicit reads were made.", kReadCounted,
       count_of(whose, &RecordReadCosts::requests)},
      {names.bytes, counter, Unit::bytes, "Bytes that explicit reads got.", kReadCounted,
       count_of(whose, &RecordReadCosts::bytes)},
  };
}

}  // namespace

std::vector<Figure> record_read_figures() {
  return joined(
      {family({"record_reads.time_s.{part}", "record_reads.switches.{kind}",
               "record_reads.faults.{kind}", "record_reads.pages.{kind}", "record_reads.requests",
               "record_reads.read_bytes"},
              this_rank),
       family(
           {"ranks.{rank}.record_reads.time_s.{part}", "ranks.{rank}.record_reads.switches.{kind}",
            "ranks.{rank}.record_reads.faults.{kind}", "ranks.{rank}.record_reads.pages.{kind}",
            "ranks.{rank}.record_reads.requests", "ranks.{rank}.record_reads.read_bytes"},
           each_rank),
       family({"all_ranks.record_reads.time_s.{part}", "all_ranks.record_reads.switches.{kind}",
               "all_ranks.record_reads.faults.{kind}", "all_ranks.record_reads.pages.{kind}",
               "all_ranks.record_reads.requests", "all_ranks.record_reads.read_bytes"},
              all_ranks)});
}

}  // namespace stoker
