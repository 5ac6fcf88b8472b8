#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "io/core/notify.h"
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
  // Names it in messages, and in a format without labels of its own says the class: up to the first
  // '/'.
  std::string key;
  // -1: the key says it.
  int64_t label = -1;
  // What is read of the shard; where there are parts, `bytes` is the sum of what they give.
  uint64_t offset = 0;
  uint64_t bytes = 0;
  // If not empty: why the sample can't be used. It is then a bad one, and nothing of it is read.
  std::string bad = {};
  // Not empty: it is put together of these, by the format's assemble().
  std::vector<ShardPart> parts = {};
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
  // can't be gone through.
  virtual std::vector<ShardSample> scan(const Storage& tier, const ObjectInfo& shard) const = 0;
  // The part of `stored`, which lies in the shard, that the decoder takes. `stored` may be changed.
  // BadSample for damage.
  virtual Bytes payload(Buffer& stored) const = 0;
  // The same of a sample that has parts, for a format whose samples have some: its bytes, in `out`.
  // BadSample for damage; as `read`.
  virtual Bytes assemble(const ShardSample& sample, const ShardRead& read, Buffer& out) const;
};

// The samples of a shard. They are taken from the index that is kept beside it, "<key>.index.json".
// If there is no index, or it is for another shard or format, a scan finds them, and its index is
// kept. A tier that can't be written to is a remark. Fails as scan(). Any thread; several processes
// may be at the same shard.
std::vector<ShardSample> shard_samples(Storage& tier, const ObjectInfo& shard,
                                       const ShardFormat& format, const Notify& notify);

// The text of an index. Pure; any thread.
std::string shard_index_json(const std::vector<ShardSample>& samples, uint64_t shard_bytes,
                             const std::string& format);
// Its samples: each lies in the shard. Error(ExitCode::data) where it is damaged, or of another
// shard or format.
std::vector<ShardSample> parse_shard_index(Bytes text, uint64_t shard_bytes,
                                           const std::string& format);

}  // namespace stoker
