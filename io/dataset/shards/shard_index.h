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
  // What becomes of it: so many bytes, by a way that the format knows by this number (0: none).
  uint64_t unpacked = 0;
  uint64_t packing = 0;
  // Of these, what is the sample's.
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
  // Not empty: why it can't be used. It is a bad sample, of which nothing is read.
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
  // What the decoder takes of what lies in the shard: a part of `stored`, which may be changed.
  // BadSample for damage.
  virtual Bytes payload(Buffer& stored) const = 0;
  // The same of a sample that has parts, for a format whose samples have some: its bytes, in `out`.
  // BadSample for damage; as `read`.
  virtual Bytes assemble(const ShardSample& sample, const ShardRead& read, Buffer& out) const;
};

// The samples of a shard: of the index that is kept beside it, "<key>.index.json", or where there
// is none, or one of another shard or format, by a scan, whose index is then kept. A tier that
// can't be written to is a remark. Fails as scan(). Any thread; several processes may be at the
// same shard.
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
