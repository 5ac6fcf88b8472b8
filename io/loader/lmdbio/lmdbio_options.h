#pragma once

#include <cstdint>
#include <string>

#include "io/core/config/config.h"
#include "io/loader/loader.h"

namespace stoker {

// How the records of a batch get into memory: Caffe's way, the six of LMDBIO (Pumma et al., HPCC
// 2017, ICPADS 2017, TOPC 2019), each of which adds one idea to the one before, and what one would
// do today.
enum class LmdbReader {
  lmdb,     // every rank maps the file, walks to its records and skips those of the others (Caffe)
  lmm,      // one rank of each node maps and walks; the others get theirs from a shared window
  lmm_dm,   // + the place is handed from node to node, and pages are touched ahead on a guess
  lmm_dio,  // + one explicit read of all of a node's records, by offsets that a walk has found
  prov,     // + offsets computed from how the database was written
  coal,     // + one read for several batches
  stag,     // + so many nodes read at once
  indexed   // offsets of the verified index, page numbers, many reads in flight; each rank its own
};
EnumNames<LmdbReader> enum_names(LmdbReader);
// As a configuration writes it.
std::string name_of(LmdbReader reader);

inline constexpr int64_t kMostCoalesced = 1024;

// Batches for one read, or `auto`: so many that it has 4 MiB, a power of two. A value.
struct Coalesce {
  int64_t batches = 0;  // 0: auto
};
template <>
struct Scalar<Coalesce> {
  static bool parse(const std::string& text, Coalesce& out);
  static std::string format(const Coalesce& value);
  static constexpr const char* expected = "auto or a number from 1 to 1024";
  static constexpr const char* word = "auto";
};

// The options of loader.type lmdbio. A value.
struct LmdbioOptions : LoaderOptions {
  LmdbReader reader = LmdbReader::lmm;
  int64_t node_size = 0;
  bool read_ahead = true;
  Coalesce coalesce;
  int64_t stagger = 1;
  int64_t commit = 1000;
  // Of a batch that is read as the records lie, in 4 batches ahead (Caffe's PREFETCH_COUNT).
  LmdbioOptions() {
    shuffle = false;
    prefetch_batches = 4;
  }
  template <class V>
  void visit(V& v) {
    LoaderOptions::visit(v);
    v("reader", reader,
      same_results("lmdb: each rank maps the file and walks (Caffe); lmm, lmm_dm, lmm_dio, prov, "
                   "coal, stag: LMDBIO's six, each with one idea more; indexed: as one would read "
                   "it today"));
    v("node_size", node_size,
      "ranks that share a window, as if they were a machine; 0: all of the machine",
      Limits{0, 1 << 16});
    v("read_ahead", read_ahead,
      same_results("mapped readers: the kernel reads ahead (false: MADV_RANDOM)"));
    v("coalesce", coalesce,
      "batches whose records lie one behind the other for a node, and which `coal` and `stag` read "
      "at once; auto: 4 MiB for them, 1 for the other readers");
    v("stagger", stagger, same_results("stag: nodes that read at once"), Limits{1, 1 << 16});
    v("commit", commit, same_results("prov, coal, stag: records per transaction of the writer"),
      Limits{1, 1 << 30});
  }
  // Error(ExitCode::config) for what has no meaning: shuffle, another order.
  void check(const Section& section) const;
  LoaderInfo info() const;
};

}  // namespace stoker
