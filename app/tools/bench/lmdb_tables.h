#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace stoker {

// A reader of the loader `lmdbio`, and what its authors published. A value of literals.
struct LmdbReaderFacts {
  const char* name = "";
  // Speed-up over the reader before it (of `stag` over `lmdb`, by all six together), the largest
  // that was published: of records of 3 KB (CIFAR10-Large, up to 512 processes; all six: 9,216) and
  // of 192 KB (ImageNet). 0: none.
  double published_small = 0;
  double published_large = 0;
  // Of 3 KB records on 1, 2, 4 and 8 processes.
  std::vector<double> published_by_ranks = {};
};
// All, each behind the one that it adds an idea to.
const std::vector<LmdbReaderFacts>& lmdb_readers();

// The runs of one reader on so many ranks, round by round. A value.
struct LmdbCell {
  const LmdbReaderFacts* reader = nullptr;
  int64_t ranks = 1;
  std::vector<nlohmann::json> summaries;  // rank 0's summary.json of each round
};

// What all runs were given. A value.
struct LmdbConditions {
  uint64_t record_bytes = 0;         // of the data set's first record
  std::vector<double> raw_mb_per_s;  // of a sequential read, round by round
};

// What the runs of all cells came to, as "rates", "costs" and "breakdown": an array of rows each.
nlohmann::json lmdb_json(const std::vector<LmdbCell>& cells, const LmdbConditions& conditions);
// The same for people.
std::string lmdb_text(const std::vector<LmdbCell>& cells, const LmdbConditions& conditions);

}  // namespace stoker
