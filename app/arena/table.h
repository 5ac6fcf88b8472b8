#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/arena/pixels.h"
#include "app/arena/results.h"

namespace stoker {

// One line of the table: an entry with a number of workers. Absent: not measured.
struct ArenaTableLine {
  std::string klass;
  std::string name;
  int64_t workers = 0;
  bool ours = false;
  int64_t rounds = 0;  // that were run well
  double median = 0;   // images/s: over the rounds, of their medians
  double min = 0;      // of all measured epochs
  double max = 0;
  std::optional<double> cpu_s_per_1000;  // median over the rounds
  std::optional<double> peak_mb;         // largest of the rounds
  std::optional<double> pss_mb;          // likewise
  std::optional<double>
      ratio;  // median / that of the class's best with as many workers, ours aside
  std::optional<PixelDifference> pixels;
  std::string batches;  // "[128,3,224,224] NCHW", as it says itself
  std::string buffers;
  std::string version;
};

struct ArenaFailure {
  std::string name;
  int64_t workers = 0;
  int64_t round = 0;
  std::string error;
};

struct ArenaTable {
  std::vector<ArenaTableLine> lines;  // by class in the file's order, workers, best first
  std::vector<ArenaEntry> absent;     // selected, but not there
  std::vector<ArenaFailure> failed;   // and not run well later
  int64_t missing_runs = 0;           // of the plan, neither run nor failed nor absent
  std::optional<std::pair<double, double>> load;  // of the machine before the runs: least, most
};

ArenaTable make_table(const ArenaOptions& options, const ArenaSelection& selection,
                      const std::vector<ArenaRun>& plan, const ArenaResults& results,
                      const std::map<std::string, PixelDifference>& pixels);

// The machine, for the line below the table: cpu, cores, memory_mb, kernel, this program's build.
nlohmann::json arena_conditions();

nlohmann::json table_json(const ArenaOptions& options, const ArenaTable& table);
std::string table_text(const ArenaOptions& options, const ArenaTable& table);

}  // namespace stoker
