#include "app/arena/table.h"

#include <algorithm>
#include <set>

#include "app/arena/figures.h"
#include "app/base/statistics.h"

namespace stoker {
namespace {

std::optional<double> largest(const std::optional<double>& a, const std::optional<double>& b) {
  return a && b ? std::max(a, b) : a ? a : b;
}

ArenaTableLine make_line(const ArenaEntry& entry, int64_t workers,
                         const std::vector<const ArenaRow*>& rows) {
  ArenaTableLine line;
  line.klass = entry.klass;
  line.name = entry.name;
  line.workers = workers;
  line.ours = entry.ours();
  line.rounds = static_cast<int64_t>(rows.size());
  line.buffers = entry.buffers;
  std::vector<double> medians, all, cpu;
  for (const ArenaRow* row : rows) {
    medians.push_back(*images_per_s(row->output));
    const std::vector<double> rates = epoch_rates(row->output);
    all.insert(all.end(), rates.begin(), rates.end());
    if (const auto used = cpu_s_per_1000(row->output)) cpu.push_back(*used);
    line.peak_mb = largest(line.peak_mb, number_of(row->output, "rss_mb"));
    line.pss_mb = largest(line.pss_mb, number_of(row->output, "pss_mb"));
    line.batches = text_of(row->output, "shape") + " " + text_of(row->output, "layout");
    line.version = text_of(row->output, "version");
  }
  line.median = spread(medians).median;
  line.min = spread(all).min;
  line.max = spread(all).max;
  if (!cpu.empty()) line.cpu_s_per_1000 = spread(cpu).median;
  return line;
}

void add_ratios(std::vector<ArenaTableLine>& lines) {
  for (ArenaTableLine& line : lines) {
    double best = 0;
    for (const ArenaTableLine& other : lines) {
      if (other.klass == line.klass && other.workers == line.workers && !other.ours) {
        best = std::max(best, other.median);
      }
    }
    if (best > 0) line.ratio = line.median / best;
  }
}

// The place of a class in the file.
size_t place_of(const ArenaOptions& options, const std::string& klass) {
  const auto found = std::find_if(options.entries.begin(), options.entries.end(),
                                  [&](const ArenaEntry& entry) { return entry.klass == klass; });
  return static_cast<size_t>(found - options.entries.begin());
}

void add_outcome(const ArenaOptions& options, const ArenaRun& run, const ArenaResults& results,
                 ArenaTable& table) {
  const ArenaEntry& entry = options.entries[run.entry];
  const ArenaRow* failed = nullptr;
  for (const ArenaRow& row : results.rows()) {
    const bool same = row.entry == entry.name && row.workers == run.workers &&
                      row.round == run.round && row.hash == run.hash;
    if (same && row.ok()) return;
    if (same) failed = &row;
  }
  if (failed == nullptr) {
    ++table.missing_runs;
  } else {
    table.failed.push_back({entry.name, run.workers, run.round, failed->error});
  }
}

}  // namespace

ArenaTable make_table(const ArenaOptions& options, const ArenaSelection& selection,
                      const std::vector<ArenaRun>& plan, const ArenaResults& results,
                      const std::map<std::string, PixelDifference>& pixels) {
  ArenaTable table;
  std::set<size_t> absent;
  for (size_t i = 0; i < options.entries.size(); ++i) {
    if (!is_selected(options.entries[i], selection) || is_there(options, options.entries[i]))
      continue;
    absent.insert(i);
    table.absent.push_back(options.entries[i]);
  }
  std::map<std::pair<size_t, int64_t>, std::vector<const ArenaRow*>> groups;
  for (const ArenaRun& run : plan) {
    const ArenaRow* row = results.find(run, options.entries[run.entry]);
    if (row != nullptr) {
      groups[{run.entry, run.workers}].push_back(row);
      if (!table.load) table.load = {row->load, row->load};
      table.load = {std::min(table.load->first, row->load),
                    std::max(table.load->second, row->load)};
    } else if (!absent.contains(run.entry)) {
      add_outcome(options, run, results, table);
    }
  }
  for (const auto& [key, rows] : groups) {
    table.lines.push_back(make_line(options.entries[key.first], key.second, rows));
    const auto difference = pixels.find(table.lines.back().name);
    if (difference != pixels.end() && difference->second.error.empty()) {
      table.lines.back().pixels = difference->second;
    }
  }
  for (const ArenaEntry& entry : options.entries) {
    const auto difference = pixels.find(entry.name);
    if (difference == pixels.end() || difference->second.error.empty()) continue;
    if (is_selected(entry, selection)) {
      table.failed.push_back({entry.name, 1, 0, "pixels: " + difference->second.error});
    }
  }
  add_ratios(table.lines);
  std::stable_sort(table.lines.begin(), table.lines.end(),
                   [&](const ArenaTableLine& a, const ArenaTableLine& b) {
                     return std::tuple(place_of(options, a.klass), a.workers, -a.median) <
                            std::tuple(place_of(options, b.klass), b.workers, -b.median);
                   });
  return table;
}

}  // namespace stoker
