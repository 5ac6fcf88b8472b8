#include "io/dataset/shards/shard_writer.h"

namespace stoker {

template <>
Registry<ShardFormatWriter>& Registry<ShardFormatWriter>::global() {
  static Registry registry;
  return registry;
}

}  // namespace stoker
