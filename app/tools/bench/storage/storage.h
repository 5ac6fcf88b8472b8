#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/base/command_line.h"
#include "app/tools/bench/bench_tier.h"
#include "io/core/config/config.h"
#include "io/core/error.h"
#include "io/storage/emulated/tier_fit.h"
#include "io/storage/storage.h"

namespace stoker {

// What the threads of one round do: each moves its block, transfer by transfer. A value.
struct StorageWorkload {
  bool write = false;
  // Each thread does every transfer of its block once, in an order of the round's own; else it
  // begins at the front.
  bool random = false;
  // The threads share one file and have a segment each; else each has a file.
  bool shared = false;
  // Operations of the tier are whole (from open to close); else files stay open. Tiers without
  // files have only objects.
  bool objects = false;
  // Sync files before they are closed; the time counts.
  bool sync = false;
  // Files are evicted from the page cache before the round, and looked at.
  bool cold = false;
  // Bytes of each thread.
  uint64_t block_bytes = 64 << 20;
  // Bytes of one read or write; it divides block_bytes, and past the page cache it is a multiple of
  // 4096.
  uint64_t transfer_bytes = 1 << 20;
  int64_t threads = 1;
  // Threads stop after this time; 0: when their block is done.
  double limit_s = 0;
};

// What one round took: from one instant on for all threads, when their files are open (objects: are
// yet to be opened), until they have synced. A value.
struct StorageRound {
  // Time until the last thread was done.
  double seconds = 0;
  uint64_t bytes = 0;
  int64_t transfers = 0;
  // Time until the first thread was done, and what all had moved by then, which gives the rate
  // while all worked.
  double first_done_s = 0;
  uint64_t first_done_bytes = 0;
  // Latencies of a transfer.
  double p50_s = 0;
  double p99_s = 0;
  // Share of the files that was in the page cache before a round that had to be cold; absent where
  // the kernel does not tell.
  std::optional<double> cached;
  // False where it had to be cold and was not, so that its time says nothing about the tier.
  bool counts = true;
};

// The baseline of a tier, as IOR measures it. Its files lie in a folder of their own, which the
// destructor removes. One thread at a time; rounds start and join threads of their own.
class StorageBench {
 public:
  // stop_requested is asked before every transfer, by all threads; once true, rounds end early and
  // mean nothing. below: the folder of the tier in which its folder is. The tier must outlive it.
  // Makes the folder; IoError.
  StorageBench(Storage& tier, std::function<bool()> stop_requested, const std::string& below = "");

  // Writes the files that such rounds read. Error(ExitCode::config) for a workload that the tier
  // cannot do.
  void prepare(const StorageWorkload& workload);
  // Does one round; prepare() for the same workload comes before it. seed: the order and what is
  // written are functions of it. What was written is removed again, outside of the measured time.
  // IoError as the tier's.
  StorageRound run(const StorageWorkload& workload, uint64_t seed);
  // Opens a file `count` times, and creates as many, and returns the seconds of each. Empty for a
  // tier without files.
  std::vector<double> metadata(int64_t count);

  // Whether the tier has files, which can stay open and can be synced and evicted.
  bool has_files() const { return files_ != nullptr; }
  // Whether transfers go past the page cache.
  bool direct() const { return direct_; }

 private:
  class Round;
  // The names of the files or objects of one round, in the folder.
  std::vector<std::string> keys(const StorageWorkload& workload) const;
  void write_object(const std::string& key, uint64_t bytes);
  void remove(const std::string& key);

  Storage& tier_;
  const FileTree* files_;  // null: the tier has none
  const std::function<bool()> stop_requested_;
  const BenchFolder folder_;
  bool direct_ = false;
  // What has been written and not removed: bytes by key.
  std::map<std::string, uint64_t> there_;
};

// What `stoker bench storage` is asked for. A value.
struct StorageBenchArguments : ConfigArguments {
  // The tier's name under storage:.
  std::string tier;
  // The result has a row for each of these numbers.
  std::vector<int64_t> threads{1, 2, 4, 8};
  // Bytes of each thread, and of one read or write.
  ByteSize block_size{64 << 20};
  ByteSize transfer_size{1 << 20};
  std::string pattern = "sequential";  // or "random"
  std::string op = "read";             // or "write", "both"
  // The rest of what the threads do; sizes, threads, direction and order are those above.
  StorageWorkload workload;
  // Rounds that count; they follow one that does not.
  int64_t rounds = 3;
  // It is the default, and has a name on the command line only because workload.shared has one.
  bool file_per_thread = true;
  // Find the emulated tier that behaves like this one instead.
  bool fit = false;
  // The folder of the tier that holds the benchmark's own; empty: its root does.
  std::string directory;
};

// `stoker bench storage`: measures bandwidth, IOPS and latency of one tier by number of threads, or
// finds the emulated tier that behaves like it (`fit`). Prints the result. Where a signal stopped
// it, it prints nothing and returns the exit code of the signal. MB are 10^6 bytes.
// Error(ExitCode::config) for an unknown tier or what it cannot do; IoError.
ExitCode bench_storage(const StorageBenchArguments& arguments);

// What `stoker bench storage --fit` found. A value.
struct StorageFit {
  TierFit fit;
  // The points that it was fitted to: medians of the rounds, in the order in which they were
  // measured.
  std::vector<TierPoint> points;
  // How |predicted / measured - 1| is distributed over the points.
  double worst = 0;
  double mean = 0;
  // The worst is so small that the model stands for the tier: at most kFits.
  bool fits() const { return worst <= kFits; }
  static constexpr double kFits = 0.25;
  // Why it is not, in words that begin with the point that is farthest off. Empty: it fits.
  std::string why;
  // Rounds that had to be cold and were not.
  int64_t left_out = 0;
};

// Measures `rounds` interleaved rounds of reads and writes at each number of threads, and fits the
// model of an emulated tier to them. It takes from `like` the sizes (transfer_bytes is the large
// one, 4 KiB the small one), shared, objects, cold and limit_s. Error(ExitCode::environment) where
// no round of some point counts. It returns after a stop as well: the caller asks whether there was
// one.
StorageFit fit_storage(StorageBench& bench, const StorageWorkload& like,
                       const std::vector<int64_t>& threads, int64_t rounds);

}  // namespace stoker
