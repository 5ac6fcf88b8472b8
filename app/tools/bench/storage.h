#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/base/config_arguments.h"
#include "io/core/config/config.h"
#include "io/core/error.h"
#include "io/storage/storage.h"

namespace stoker {

// What the threads of one round do: each moves its block, transfer by transfer. A value.
struct StorageWorkload {
  bool write = false;
  // Every transfer of a thread's block once, in an order of the round's own; else from its begin.
  bool random = false;
  // One file, a segment per thread; else a file per thread.
  bool shared = false;
  // Whole operations of the tier (open to close); else files that stay open. Tiers without files
  // have only objects.
  bool objects = false;
  // Sync files before they are closed; the time counts.
  bool sync = false;
  // Evicted from the page cache before the round, and looked at.
  bool cold = false;
  // Of each thread.
  uint64_t block_bytes = 64 << 20;
  // Of one read or write; divides block_bytes. Past the page cache a multiple of 4096.
  uint64_t transfer_bytes = 1 << 20;
  int64_t threads = 1;
  // Threads stop after it; 0: when their block is done.
  double limit_s = 0;
};

// What one round took: from one instant on for all threads, when their files are open (objects: are
// yet to be opened), until they have synced. A value.
struct StorageRound {
  // Until the last thread was done.
  double seconds = 0;
  uint64_t bytes = 0;
  int64_t transfers = 0;
  // Until the first thread was done, and what all had moved by then: the rate while all worked.
  double first_done_s = 0;
  uint64_t first_done_bytes = 0;
  // Of a transfer.
  double p50_s = 0;
  double p99_s = 0;
  // Share of the files that was in the page cache before a round that had to be cold; absent where
  // the kernel does not tell.
  std::optional<double> cached;
  // False: it had to be cold and was not, so that its time says nothing of the tier.
  bool counts = true;
};

// The baseline of a tier, as IOR measures it. Its files lie in a directory of their own, which the
// destructor removes. One thread at a time; rounds start and join threads of their own.
class StorageBench {
 public:
  // stop_requested is asked before every transfer, by all threads; once true, rounds end early and
  // mean nothing. The tier must outlive it. Makes the directory; IoError.
  StorageBench(Storage& tier, std::function<bool()> stop_requested);
  ~StorageBench();
  StorageBench(const StorageBench&) = delete;
  StorageBench& operator=(const StorageBench&) = delete;

  // Writes the files that such rounds read. Error(ExitCode::config) for a workload that the tier
  // cannot do.
  void prepare(const StorageWorkload& workload);
  // One round; prepare() of the same workload comes before. seed: of the order and of what is
  // written. What was written is removed again, outside of the measured time. IoError as the
  // tier's.
  StorageRound run(const StorageWorkload& workload, uint64_t seed);
  // Seconds of each of so many openings, and creations, of a file. Empty for a tier without files.
  std::vector<double> metadata(int64_t count);

  // The tier is files, which can stay open, be synced and evicted.
  bool has_files() const { return files_ != nullptr; }
  // Transfers go past the page cache.
  bool direct() const { return direct_; }

 private:
  class Round;
  // Of the files or objects of one round, below the directory.
  std::vector<std::string> keys(const StorageWorkload& workload) const;
  void write_object(const std::string& key, uint64_t bytes);
  void remove(const std::string& key);

  Storage& tier_;
  const FileTree* files_;  // null: the tier has none
  const std::function<bool()> stop_requested_;
  const std::string directory_;
  bool direct_ = false;
  // What has been written and not removed: bytes by key.
  std::map<std::string, uint64_t> there_;
};

// What `stoker bench storage` is asked for. A value.
struct StorageBenchArguments : ConfigArguments {
  // Its name under storage:.
  std::string tier;
  // A row of the result for each of these numbers.
  std::vector<int64_t> threads{1, 2, 4, 8};
  // Of each thread, and of one read or write.
  ByteSize block_size{64 << 20};
  ByteSize transfer_size{1 << 20};
  std::string pattern = "sequential";  // or "random"
  std::string op = "read";             // or "write", "both"
  // The rest of what the threads do; sizes, threads, direction and order are those above.
  StorageWorkload workload;
  // That count, after one that does not.
  int64_t rounds = 3;
  // The default, which has a name on the command line; workload.shared is the other one.
  bool file_per_thread = true;
  // Instead: find the emulated tier that behaves like this one.
  bool fit = false;
};

// `stoker bench storage`: bandwidth, IOPS and latency of one tier over threads, or the emulated
// tier that behaves like it (`fit`). Prints the result; nothing where a signal stopped it, whose
// exit code it then returns. MB are 10^6 bytes. Error(ExitCode::config) for an unknown tier or what
// it cannot do; IoError.
ExitCode bench_storage(const StorageBenchArguments& arguments);

}  // namespace stoker
