#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/tools/data/convert/plan.h"
#include "io/core/batch.h"
#include "io/core/system/file.h"
#include "io/core/system/memory.h"
#include "io/dataset/shards/shard_writer.h"
#include "io/storage/storage.h"

namespace stoker {

// A sample that was left out. A value.
struct LeftOutSample {
  std::string key;
  std::string reason;  // as in skipped.csv
  std::string message;
};

// What became of a planned shard's samples. A value.
struct ShardReceipt {
  WrittenShard written;
  std::vector<LeftOutSample> left_out;
  // Damaged ones that were written as their decoder makes them.
  std::vector<ToleratedSample> tolerated;
};

// What is known of a conversion under way, kept beside what it writes, so that another process can
// go on:
//
//   convert.json               what is converted and how; written first, removed last
//   convert-train-00003.json   the receipt of a shard; written when the shard is durable
//
// So a shard with a receipt is complete, and one without is written anew. find(), keep() and
// forget() are for any thread, each shard for one at a time. IoError as the tier's.
class ConvertJournal {
 public:
  // What is converted and how, by name ("format": "tar_shards").
  using Work = std::map<std::string, std::string>;

  // Begins, or goes on where there is a convert.json of the same work. Error(ExitCode::environment)
  // where there is one of other work, or anything else, or another process is at it. prefix: empty,
  // or ends with '/'.
  // classes: how many there are. apart: each sample has an object of its own.
  ConvertJournal(Storage& to, std::string prefix, Work work, size_t classes, bool apart);
  ~ConvertJournal();
  ConvertJournal(const ConvertJournal&) = delete;
  ConvertJournal& operator=(const ConvertJournal&) = delete;

  // The receipt of a shard whose objects are all there with the right sizes. Nothing: it has to be
  // written.
  std::optional<ShardReceipt> find(const PlannedShard& shard) const;
  void keep(const PlannedShard& shard, const ShardReceipt& receipt);
  void forget(const PlannedShard& shard);
  // Whether an object of that name in the folder says that a conversion is under way.
  static bool is_plan(const std::string& name);
  // Removes all of it.
  void finish(const std::vector<PlannedShard>& shards);

 private:
  std::string receipt_key(const PlannedShard& shard) const;
  void check_work(const std::vector<ObjectInfo>& objects) const;
  bool fits(const ShardReceipt& receipt, const PlannedShard& shard) const;
  void lock();
  void remove_temporaries() const;

  Storage& to_;
  const std::string prefix_;
  const Work work_;
  const size_t classes_;
  const bool apart_;
  std::map<std::string, uint64_t> found_;  // sizes of what was there at the begin
  FileDescriptor lock_;
};

// The text of a receipt, and the receipt of a text. Error(ExitCode::data) for a damaged one. Pure.
std::string receipt_json(const ShardReceipt& receipt);
ShardReceipt parse_receipt(Bytes text);

}  // namespace stoker
