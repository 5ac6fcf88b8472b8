#include "app/tools/bench/lmdb_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>
#include <string_view>

#include "app/base/result_table.h"
#include "io/core/text/json.h"
#include "io/metrics/ranks/breakdown.h"

namespace stoker {
namespace {

using nlohmann::json;
using Cell = ResultTable::Cell;
using Value = std::optional<double>;

// A column of a table, and where its value is in a run. `of` is empty in columns that look at other
// runs as well.
struct LmdbColumn {
  ResultTable::Column column;
  std::function<Value(const json& summary)> of;
};

Value quotient(const Value& part, const Value& whole) {
  if (!part || !whole || *whole <= 0) return std::nullopt;
  return *part / *whole;
}

double ranks_of(const json& summary) { return number_at(summary, "world_size").value_or(1); }

// A sum over all ranks, or its mean over the ranks.
std::function<Value(const json&)> sum_at(const std::string& figure, bool mean = false) {
  return [figure, mean](const json& summary) -> Value {
    const Value sum = number_at(summary, "all_ranks." + figure);
    return sum && mean ? *sum / ranks_of(summary) : sum;
  };
}

// The sum of several sums, without those that are absent.
std::function<Value(const json&)> sums_at(std::vector<std::string> figures) {
  return [figures = std::move(figures)](const json& summary) -> Value {
    Value sum;
    for (const std::string& figure : figures) {
      if (const Value part = number_at(summary, "all_ranks." + figure))
        sum = sum.value_or(0) + *part;
    }
    return sum;
  };
}

Value images_of_all(const json& summary) {
  Value sum;
  for (const json& rank : summary.value("ranks", json::object())) {
    sum = sum.value_or(0) + rank.value("images", 0.0);
  }
  return sum ? sum : number_at(summary, "images");
}

// Bytes of the records over the time in which they were read, all ranks at once.
Value read_mb_per_s(const json& summary, const LmdbConditions& conditions) {
  const Value images = images_of_all(summary);
  const Value reading =
      quotient(number_at(summary, "all_ranks.record_reads.time_s.wall"), ranks_of(summary));
  if (!images) return std::nullopt;
  return quotient(1e-6 * *images * static_cast<double>(conditions.record_bytes), reading);
}

std::vector<Value> values_of(const LmdbCell& cell, const std::function<Value(const json&)>& of) {
  std::vector<Value> values;
  for (const json& summary : cell.summaries) values.push_back(of(summary));
  return values;
}

Cell spread_of(const std::vector<Value>& values) {
  std::vector<double> known;
  for (const Value& value : values) {
    if (value) known.push_back(*value);
  }
  return known.empty() ? Cell() : Cell(spread(known));
}

// Compared round by round, because what changes on the machine meets both. Absent where one of the
// two was not run.
Cell speed_up(const LmdbCell& cell, const LmdbCell* over) {
  if (over == nullptr || over == &cell) return {};
  std::vector<Value> ratios;
  for (size_t i = 0; i < std::min(cell.summaries.size(), over->summaries.size()); ++i) {
    ratios.push_back(
        quotient(number_at(over->summaries[i], "wall_s"), number_at(cell.summaries[i], "wall_s")));
  }
  return spread_of(ratios);
}

const LmdbCell* find(const std::vector<LmdbCell>& cells, std::string_view reader, int64_t ranks) {
  const auto found = std::ranges::find_if(cells, [&](const LmdbCell& cell) {
    return cell.reader->name == reader && cell.ranks == ranks;
  });
  return found == cells.end() ? nullptr : &*found;
}

// The reader before it among those that were run.
const LmdbCell* before(const std::vector<LmdbCell>& cells, const LmdbCell& cell) {
  for (const LmdbReaderFacts* facts = cell.reader; facts != lmdb_readers().data();) {
    if (const LmdbCell* found = find(cells, (--facts)->name, cell.ranks)) return found;
  }
  return nullptr;
}

Cell known_or_absent(double published) { return published > 0 ? Cell(published) : Cell(); }

Cell published_here(const LmdbCell& cell) {
  const std::vector<double>& published = cell.reader->published_by_ranks;
  const auto ranks = static_cast<uint64_t>(cell.ranks);
  const auto place = static_cast<size_t>(std::bit_width(ranks)) - 1;
  const bool known = std::has_single_bit(ranks) && place < published.size();
  return known ? Cell(published[place]) : Cell();
}

ResultTable rates_table(const std::vector<LmdbCell>& cells, const LmdbConditions& conditions) {
  ResultTable table({{"ranks", "ranks"},
                     {"reader", "reader"},
                     {"run_s", "run s (min max)", 2},
                     {"opening_s", "opening s", 3, 1, false},
                     {"read_mb_per_s", "MB/s read (min max)", 1},
                     {"of_raw", "of raw %", 1, 100, false},
                     {"speed_up", "over the one before (min max)", 2},
                     {"speed_up_over_lmdb", "over lmdb (min max)", 2},
                     {"published/small_records", "published: 3 KB", 2},
                     {"published/large_records", "192 KB", 2},
                     {"published/as_many_processes", "3 KB, as many processes", 2},
                     {"read_share", "read % of run", 1, 100, false},
                     {"reading_share", "reading %", 1, 100, false},
                     {"sleep_share", "sleep % of reading", 1, 100, false}});
  const Cell raw = conditions.raw_mb_per_s.empty() ? Cell() : Cell(spread(conditions.raw_mb_per_s));
  for (const LmdbCell& cell : cells) {
    const auto each = [&cell](const std::function<Value(const json&)>& of) {
      return spread_of(values_of(cell, of));
    };
    const auto rate = [&conditions](const json& run) { return read_mb_per_s(run, conditions); };
    const double most =
        conditions.raw_mb_per_s.empty() ? 0 : spread(conditions.raw_mb_per_s).median;
    const auto share = [](const char* part, const char* whole) {
      return [part, whole](const json& run) {
        return quotient(number_at(run, part), number_at(run, whole));
      };
    };
    const auto of_all_time = [](const char* part) {
      return [part](const json& run) -> Value {
        const Value wall = number_at(run, "wall_s");
        return wall ? quotient(number_at(run, part), *wall * ranks_of(run)) : std::nullopt;
      };
    };
    table.add(
        {cell.ranks, cell.reader->name,
         each([](const json& run) { return number_at(run, "wall_s"); }),
         each(sum_at("record_reads.time_s.opening", true)), each(rate),
         each([&](const json& run) { return quotient(rate(run), most); }),
         speed_up(cell, before(cells, cell)), speed_up(cell, find(cells, "lmdb", cell.ranks)),
         known_or_absent(cell.reader->published_small),
         known_or_absent(cell.reader->published_large), published_here(cell),
         each(of_all_time("all_ranks.breakdown_s.read")),
         each(of_all_time("all_ranks.record_reads.time_s.wall")),
         each(share("all_ranks.record_reads.time_s.sleep", "all_ranks.record_reads.time_s.wall"))});
  }
  return table;
}

ResultTable table_of(const std::vector<LmdbCell>& cells, const std::vector<LmdbColumn>& figures) {
  std::vector<ResultTable::Column> columns{{"ranks", "ranks"}, {"reader", "reader"}};
  for (const LmdbColumn& figure : figures) columns.push_back(figure.column);
  ResultTable table(columns);
  for (const LmdbCell& cell : cells) {
    std::vector<Cell> row{cell.ranks, cell.reader->name};
    for (const LmdbColumn& figure : figures) row.push_back(spread_of(values_of(cell, figure.of)));
    table.add(std::move(row));
  }
  return table;
}

ResultTable costs_table(const std::vector<LmdbCell>& cells) {
  std::vector<LmdbColumn> figures;
  for (const char* part : {"wall", "user", "kernel", "sleep", "waiting"}) {
    figures.push_back({{fmt::format("{}_s", part), fmt::format("{} s", part), 3, 1, false},
                       sum_at(fmt::format("record_reads.time_s.{}", part))});
  }
  const auto count = [&figures](const char* key, const char* title, std::vector<std::string> places,
                                bool range = false) {
    for (std::string& place : places) place.insert(0, "record_reads.");
    figures.push_back({{key, title, 0, 1, range}, sums_at(std::move(places))});
  };
  count("voluntary_switches", "voluntary switches (min max)", {"switches.voluntary"}, true);
  count("involuntary_switches", "involuntary", {"switches.involuntary"});
  count("minor_faults", "minor faults", {"faults.minor"});
  count("major_faults", "major (min max)", {"faults.major"}, true);
  count("pages_needed", "pages needed", {"pages.needed"});
  count("pages_fetched", "fetched", {"pages.fetched"});
  count("pages_missed", "missed", {"pages.missed_left", "pages.missed_right"});
  count("pages_extra", "extra", {"pages.extra_left", "pages.extra_right"});
  count("requests", "requests", {"requests"});
  count("read_bytes", "", {"read_bytes"});
  return table_of(cells, figures);
}

ResultTable breakdown_table(const std::vector<LmdbCell>& cells) {
  std::vector<LmdbColumn> figures;
  for (size_t i = 0; i < kTimeParts; ++i) {
    std::string name = time_part_name(static_cast<TimePart>(i));
    const std::string place = "breakdown_s." + name;
    std::string title = name + " s";
    std::ranges::replace(title, '_', ' ');
    figures.push_back({{name + "_s", title, 3, 1, false}, sum_at(place, true)});
  }
  return table_of(cells, figures);
}

}  // namespace

const std::vector<LmdbReaderFacts>& lmdb_readers() {
  // Pumma et al.: HPCC 2017 (LMM), ICPADS 2017 (LMM-DM), TOPC 2019 (all six).
  static const std::vector<LmdbReaderFacts> all{{"lmdb"},
                                                {"lmm", 1.75, 20.88, {1.00, 1.05, 1.18, 1.62}},
                                                {"lmm_dm", 1.87, 2.33},
                                                {"lmm_dio"},
                                                {"prov"},
                                                {"coal"},
                                                {"stag"},
                                                {"indexed"}};
  return all;
}

json lmdb_json(const std::vector<LmdbCell>& cells, const LmdbConditions& conditions) {
  return {{"rates", rates_table(cells, conditions).json()},
          {"costs", costs_table(cells).json()},
          {"breakdown", breakdown_table(cells).json()}};
}

std::string lmdb_text(const std::vector<LmdbCell>& cells, const LmdbConditions& conditions) {
  return fmt::format(
      "{}\npublished: the largest speed-up over the reader before it that LMDBIO's authors report "
      "(Pumma et al., HPCC and ICPADS 2017, on up to 512 processes); all six together against "
      "lmdb: 65 on 9,216 processes (TOPC 2019)\n\n"
      "all ranks together, while they read; medians\n{}\n"
      "time of a rank, mean over the ranks; read and transform: what it waited for them; medians\n"
      "{}",
      rates_table(cells, conditions).text(), costs_table(cells).text(),
      breakdown_table(cells).text());
}

}  // namespace stoker
