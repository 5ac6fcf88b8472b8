#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace stoker {

// A reader of the loader `lmdbio`, and what its authors published. A value of literals.
struct LmdbReaderFacts {
  const char* name = "";
  // The largest published speed-up over the reader before it (for `stag` over `lmdb`, by all six
  // together): with records of 3 KB (CIFAR10-Large, up to 512 processes; all six: 9,216) and of
  // 192 KB (ImageNet). 0: no speed-up was published.
  double published_small = 0;
  double published_large = 0;
  // The same with records of 3 KB on 1, 2, 4 and 8 processes.
  std::vector<double> published_by_ranks = {};
};
// All readers, each after the one to which it adds an idea.
const std::vector<LmdbReaderFacts>& lmdb_readers();

// The runs of one reader on `ranks` ranks, round by round. A value.
struct LmdbCell {
  const LmdbReaderFacts* reader = nullptr;
  int64_t ranks = 1;
  std::vector<nlohmann::json> summaries;  // rank 0's summary.json of each round
};

// What all runs were given. A value.
struct LmdbConditions {
  uint64_t record_bytes = 0;         // size of the data set's first record
  std::vector<double> raw_mb_per_s;  // rate of a sequential read, round by round
};

// The results of all cells as "rates", "costs" and "breakdown", each of which is an array of rows.
nlohmann::json lmdb_json(const std::vector<LmdbCell>& cells, const LmdbConditions& conditions);
// The same for people.
std::string lmdb_text(const std::vector<LmdbCell>& cells, const LmdbConditions& conditions);

}  // namespace stoker
