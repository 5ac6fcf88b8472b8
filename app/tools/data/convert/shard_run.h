#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/tools/data/convert/journal.h"
#include "app/tools/data/convert/plan.h"
#include "io/core/error.h"
#include "io/core/system/memory.h"
#include "io/dataset/dataset.h"
#include "io/dataset/shards/shard_writer.h"
#include "io/decoder/decoder.h"

namespace stoker {

// How the samples of a shard become bytes. What it refers to must outlive who uses it. A value.
struct SampleSource {
  const Dataset& dataset;
  // Null: the bytes stay as the data set gives them.
  const Decoder* decoder = nullptr;
  // Number of threads that read at once for one shard.
  int64_t threads = 1;
};

// Reads the samples of one shard by several threads and hands them to its writer in their order.
// Memory: some samples at a time, of at most 16 MiB together or one. One thread at a time.
class ShardRun {
 public:
  // Called before each sample, by any of the threads: throws to stop.
  using Check = std::function<void()>;
  // Called for each sample that was added (null), or left out, which may throw.
  using Count = std::function<void(const LeftOutSample*)>;

  ShardRun(const SampleSource& source, Check check, Count count);
  ~ShardRun();

  // Writes these samples of the split and says what became of them. Commits nothing. Throws the
  // errors of the source and the writer.
  ShardReceipt run(Split split, std::span<const int64_t> samples, ShardWriter& writer);

 private:
  struct Slot;
  void read(Split split, std::span<const int64_t> samples, size_t thread);
  void read(Split split, int64_t index, DecoderSession* session, Slot& slot) const;
  void add(Split split, int64_t index, Slot& slot, ShardWriter& writer, ShardReceipt& receipt);
  // How many of the next samples are read at once.
  size_t block(Split split, std::span<const int64_t> samples) const;

  const SampleSource source_;
  const Check check_;
  const Count count_;
  std::vector<std::unique_ptr<DecoderSession>> sessions_;  // one for each thread, or none
  std::vector<Slot> slots_;
};

// XXH3-64, as WrittenSample has it. Any thread.
uint64_t sample_hash(Bytes bytes);

}  // namespace stoker
