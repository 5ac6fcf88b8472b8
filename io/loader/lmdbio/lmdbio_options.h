#pragma once

#include <cstdint>
#include <string>

#include "io/core/config/config.h"
#include "io/loader/loader_options.h"

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
  stag,     // + only some nodes read at the same time
  indexed   // offsets of the verified index, page numbers, many reads in flight; each rank its own
};
EnumNames<LmdbReader> enum_names(LmdbReader);
// As a configuration writes it.
std::string name_of(LmdbReader reader);

// The options of loader.type lmdbio. A value.
struct LmdbioOptions : LoaderOptions {
  LmdbReader reader = LmdbReader::lmm;
  int64_t node_size = 0;
  bool read_ahead = true;
  AutoCount coalesce;
  int64_t stagger = 1;
  int64_t commit = 1000;
  // A thread of each rank reads and decodes, and records come in the order of their keys.
  static constexpr std::array kIdle{
      "workers", "pin_workers",  "device_batches", "samples_ahead",     "shuffle",  "order",
      "window",  "cycle_length", "block_length",   "single_file_stays", "in_order", "filling"};
  // Records are read in the order in which they lie, and 4 batches ahead (Caffe's PREFETCH_COUNT).
  LmdbioOptions() {
    shuffle = false;
    prefetch_batches = 4;
  }
  template <class V>
  void visit(V& v) {
    LoaderOptions::visit(v);
    v("reader", reader,
      same_results("How records are read. `lmdb`: each rank maps the file and walks it, as Caffe "
                   "does. `lmm`, `lmm_dm`, `lmm_dio`, `prov`, `coal` and `stag`: LMDBIO's six "
                   "readers, each with one idea more than the one before. `indexed`: each rank "
                   "reads its records explicitly, by an index."));
    v("node_size", node_size,
      "How many ranks share a window, as if they were one machine. 0: all ranks of the machine.",
      Limits{0, 1 << 16});
    v("read_ahead", read_ahead,
      same_results(
          "Whether the kernel reads ahead for readers that map the file. false: MADV_RANDOM."));
    v("coalesce", coalesce,
      "How many batches the readers `coal` and `stag` read at once; their records lie one behind "
      "the other for each node. auto: as many as make 4 MiB for these two, 1 for the other "
      "readers.");
    v("stagger", stagger,
      same_results("With the reader `stag`: how many nodes read at the same time."),
      Limits{1, 1 << 16});
    v("commit", commit,
      same_results("With the readers `prov`, `coal` and `stag`: how many records the database's "
                   "writer put into one transaction."),
      Limits{1, 1 << 30});
  }
  // Error(ExitCode::config) for what has no meaning: shuffle, another order.
  void check(const Section& section) const;
  LoaderInfo info() const;
};

}  // namespace stoker
