#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/core/error.h"
#include "io/core/stored_array.h"
#include "io/core/system/memory.h"
#include "io/storage/storage.h"

namespace stoker {

// A piece of a shard that holds a part of a sample, beside others or packed. A value.
struct ShardPart {
  // What is read of the shard.
  uint64_t offset = 0;
  uint64_t bytes = 0;
  // If the piece is packed: how many bytes it has unpacked, and the number by which the format
  // knows the method. 0: it is not packed.
  uint64_t unpacked = 0;
  uint64_t packing = 0;
  // Which of these bytes are the sample's.
  uint64_t begin = 0;
  uint64_t taken = 0;
};

// Where a sample lies in a shard, and what is known of it without reading it again. A value.
struct ShardSample {
  // Names it in messages.
  std::string key;
  // The number of its class, as the shard has it.
  std::optional<int64_t> label = {};
  // It has no such number, and the first folder of its key is its class.
  bool named = false;
  // What is read of the shard; where there are parts, `bytes` is the sum of what they give.
  uint64_t offset = 0;
  uint64_t bytes = 0;
  // Why it can't be used, if it can't. Nothing of it is read then.
  std::optional<BadSample> bad = {};
  // Not empty: it is put together of these, by the format's assemble().
  std::vector<ShardPart> parts = {};
};

// The class that a key names: its first folder; empty: none.
std::string class_of(const std::string& key);

// A shard has its samples or their classes elsewhere than the options or the other shards say.
class UnfitShard final : public Error {
 public:
  explicit UnfitShard(const std::string& text) : Error(ExitCode::data, text) {}
};

// What lies in a shard. A value.
struct ShardContents {
  std::vector<ShardSample> samples = {};
  // Names of what is no part of a sample: for people.
  std::vector<std::string> passed_over = {};
  // Where there are no samples: what is there instead, and the option to set. For people.
  std::string instead = {};
  // What its samples are where they are no files; other shards may have others, and samples of
  // several shapes are told by two of them.
  std::vector<std::vector<StoredArray>> arrays = {};
  // Where the format looks for them itself: where in the shard it has found its samples and their
  // classes. All shards of a data set must say the same. For people.
  std::string choice = {};
};

// Reads of one shard: all of a range, in the buffer, or where it lies in memory as long as the call
// of assemble() takes. IoError as the tier's; BadSample where the shard was cut short.
using ShardRead = std::function<Bytes(Range, Buffer&)>;

// What a format knows of its shards. Immutable; any thread.
class ShardFormat {
 public:
  virtual ~ShardFormat() = default;
  // Name and version of the format, with the options that change what scan() finds.
  virtual std::string name() const = 0;
  // Goes through a whole shard. IoError; Error(ExitCode::data), which names the shard, where it
  // can't be gone through, and UnfitShard where it has not what the options name.
  virtual ShardContents scan(const Storage& tier, const ObjectInfo& shard) const = 0;
  // Which options say where a sample's class is, for messages: "a class is ... (dataset.label)".
  // Empty: samples need no class.
  virtual std::string label_rule() const = 0;
  // The part of `stored`, which lies in the shard, that the decoder takes. `stored` may be changed.
  // BadSample for damage.
  virtual Bytes payload(Buffer& stored) const = 0;
  // The same of a sample that has parts, for a format whose samples have some: its bytes, in `out`.
  // BadSample for damage; as `read`.
  virtual Bytes assemble(const ShardSample& sample, const ShardRead& read, Buffer& out) const;
};

// The index of a shard is kept beside it, under its key with this end.
inline constexpr std::string_view kShardIndexEnd = ".index.json";

// What lies in a shard. It is taken from the index that is kept beside it, "<key>.index.json". If
// there is no index, or it is for another shard or format, a scan finds it, and its index is kept.
// A tier that can't be written to is a remark. Fails as scan(). Any thread; several processes may
// be at the same shard.
ShardContents shard_contents(Storage& tier, const ObjectInfo& shard, const ShardFormat& format,
                             const Notify& notify);

// The text of an index. Pure; any thread.
std::string shard_index_json(const ShardContents& contents, uint64_t shard_bytes,
                             const std::string& format);
// What it says: each sample lies in the shard. Error(ExitCode::data) where it is damaged, or of
// another shard or format.
ShardContents parse_shard_index(Bytes text, uint64_t shard_bytes, const std::string& format);

}  // namespace stoker
