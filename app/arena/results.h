#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/arena/plan.h"

namespace stoker {

// How one command ended.
struct ArenaRow {
  std::string entry;
  int64_t workers = 0;
  int64_t round = 0;
  std::string hash;  // ArenaRun::hash
  int exit_code = 0;
  std::string error;  // empty: it printed its line of JSON
  double seconds = 0;
  double load = 0;  // of the machine before it began, one minute's average
  nlohmann::json output;

  bool ok() const { return error.empty(); }
};

// The rows of an arena, in a file with a line of JSON each: whoever is interrupted goes on after
// the last one. One thread. Throws IoError.
class ArenaResults {
 public:
  // Reads what is there; a line that was not finished is left out.
  explicit ArenaResults(std::string path);

  void add(const ArenaRow& row);
  const std::vector<ArenaRow>& rows() const { return rows_; }
  // Null: it was not run well yet.
  const ArenaRow* find(const ArenaRun& run, const ArenaEntry& entry) const;

 private:
  std::string path_;
  std::vector<ArenaRow> rows_;
};

}  // namespace stoker
