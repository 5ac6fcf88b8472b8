#include "io/dataset/shards/object_stream.h"

#include <algorithm>

namespace stoker {
namespace {

constexpr uint64_t kBlock = uint64_t{4} << 20;

}  // namespace

Bytes ObjectStream::peek(uint64_t count) {
  count = std::min(count, left());
  if (offset_ < begin_ || offset_ - begin_ > block_.size() ||
      block_.size() - (offset_ - begin_) < count) {
    tier_.read(object_.key, block_, {offset_, std::min(std::max(count, kBlock), left())});
    begin_ = offset_;
  }
  const Bytes rest = block_.bytes().subspan(offset_ - begin_);
  return rest.first(std::min<uint64_t>(count, rest.size()));
}

}  // namespace stoker
