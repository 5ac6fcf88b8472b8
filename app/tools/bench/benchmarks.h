#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/base/command_line.h"
#include "io/checkpoint/restoring/piece_reader.h"
#include "io/core/error.h"
#include "io/dataset/dataset.h"
#include "io/decoder/decoder.h"
#include "io/metrics/spread.h"

namespace stoker {

// What `stoker bench decode` is asked for. A value.
struct DecodeBenchArguments : ConfigArguments {
  // Types of other decoders, which take the options of the experiment's own.
  std::vector<std::string> versus;
  // Number of samples, taken evenly from the training samples; 0: all. They are held in memory.
  int64_t samples = 0;
  // Rounds that count; they follow one that does not.
  int64_t rounds = 5;
};

// `stoker bench decode`: measures the time that the experiment's decoder takes for an image, and
// others beside it, on one thread. All decode the same training samples, which are read into memory
// beforehand, and each has its turn in every round. Prints the result. Error(ExitCode::config) for
// a type that does not take these options; BadSample for a file that cannot be decoded.
ExitCode bench_decode(const DecodeBenchArguments& arguments);

// What `stoker bench lmdb` is asked for. A value.
struct LmdbBenchArguments : ConfigArguments {
  std::vector<int64_t> ranks{1, 2, 4, 8};
  std::string readers = "lmdb,lmm,lmm_dm,lmm_dio,prov,coal,stag,indexed";
  int64_t rounds = 3;
  int64_t steps = 0;                // steps of each run; 0: one epoch
  std::string page_cache = "cold";  // or "as_is"
  bool drop_caches = false;         // run.drop_caches
};

// `stoker bench lmdb`: runs the training of an experiment whose loader is `lmdbio`, with each of
// its readers on each number of ranks, in turn, round after round. Beside it the same file is read
// sequentially through the same tier. Evaluation, checkpoints and digests are left out. Each run
// has processes of its own (`stoker launch`), and its run directory is removed. Prints what
// LMDBIO's papers plot: run time, bandwidth, the speed-up of each reader over the one before with
// the published ratios beside it, the kernel's counts, pages, and the stacked break-down of a
// rank's time. One thread. Error(ExitCode::config) for another loader, an unknown reader, and more
// steps than an epoch where the cache is to be cold; the run's own code where one fails.
ExitCode bench_lmdb(const LmdbBenchArguments& arguments);

// Takes every variant once in each round, so that what changes slowly on a machine falls on all
// alike: measure(variant, round), rounds from 0. The first `dropped` rounds come on top and have
// negative numbers: they pay for memory and files that nobody has touched before, and do not count.
// measure returns whether to go on; what it throws ends all. The calling thread.
//
// variants: a range, which measure may change through its first argument. rounds: that count.
template <class Variants, class Measure>
void interleave(Variants& variants, int64_t rounds, int64_t dropped, const Measure& measure) {
  for (int64_t round = -dropped; round < rounds; ++round) {
    for (auto& variant : variants) {
      if (!measure(variant, round)) return;
    }
  }
}

// Microseconds in which one thread decodes a training sample that is in memory: a value for each of
// `rounds`, which follow one that does not count. samples: taken evenly from all. The calling
// thread. BadSample for a file that cannot be decoded.
Spread decode_time(const Dataset& dataset, const Decoder& decoder, int64_t samples, int64_t rounds);

// What `stoker bench loader` is asked for. A value.
struct LoaderBenchArguments : ConfigArguments {
  int64_t epochs = 3;            // measured epochs, which follow one that warms up
  int64_t ceiling_samples = 0;   // files that libjpeg-turbo decodes; as CeilingOptions::samples
  std::vector<int64_t> scaling;  // measure each of these numbers of workers instead
  std::string dump;              // a .npy file for the first batch's pixels; empty: none
  bool quick = false;            // do not compare the loader with anything, and do not count calls
};

// `stoker bench loader`: images/s of the configured loader without a model, beside what
// libjpeg-turbo alone does with the same files. Prints the result. Allocations and copies are
// counted in a process of its own. Figures that were not measured are absent. In JSON they have the
// names that the peers of tests/experiments/peers use as well: workers, rates, per_cpu_s,
// cpu_s_per_1000, rss_mb, pss_mb, mean, shape, layout. Throws Error.
ExitCode bench_loader(const LoaderBenchArguments& arguments);

// `stoker bench loader --scaling`: the configured loader with each of these numbers of workers.
// Each first loads an epoch with the digests of its pixels. Then each loads an epoch without them
// in every round. A new loader does it every time, so that none reads ahead while another one is
// measured; the time that making it takes does not count. Prints the result.
// Error(ExitCode::config) for a loader without workers; ExitCode::bug where the order of batches
// depends on their number.
ExitCode bench_scaling(const LoaderBenchArguments& arguments);

// What `stoker bench load` is asked for. A value.
struct LoadBenchArguments {
  // Safetensors files, or the directory of a set of checkpoints; keys of the tier, where one is
  // named.
  std::vector<std::string> files;
  std::string config;  // of the tier; empty: there is none
  std::string tier;
  std::string access = "auto";  // a name of LoadAccess
  int64_t threads = kReadingThreads;
  int64_t rounds = 5;
  bool cold = false;  // evict the files before each reading, and look
  bool json = false;
};

// `stoker bench load`: reads safetensors files, or a set with its checksums, into new memory, and
// in turn the same bytes by the same requests alone, which is what the tier gives. Before
// each reading as much memory is written to and given back, so that a virtual machine's host has it
// at hand. Prints seconds, MB/s (of 10^6 bytes) and the share of the tier's rate; for an emulated
// tier beside the time that its rate makes ideal. Where a signal stopped it, it prints nothing and
// returns the exit code of the signal. Error(ExitCode::config) for an unknown tier; IoError;
// Error(ExitCode::storage) for damaged files. ExitCode::environment where everything had to be cold
// and nothing was.
ExitCode bench_load(const LoadBenchArguments& arguments);

// Declare these commands below `stoker bench` (command_storage.cpp).
void add_bench_load(const Command& bench);
void add_bench_storage(const Command& bench);

}  // namespace stoker
