#include "io/dataset/formats/parquet/tier_file.h"

#include <arrow/buffer.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace stoker {
namespace {

// Arrow's buffer around one of ours.
class OwnedBytes final : public arrow::Buffer {
 public:
  OwnedBytes(stoker::Buffer buffer, Bytes bytes)
      : arrow::Buffer(bytes.data(), static_cast<int64_t>(bytes.size())),
        buffer_(std::move(buffer)) {}

 private:
  const stoker::Buffer buffer_;
};

}  // namespace

arrow::Status TierFile::Close() {
  closed_ = true;
  return arrow::Status::OK();
}

arrow::Status TierFile::Seek(int64_t position) {
  if (position < 0) return arrow::Status::Invalid("a place before the shard's begin");
  position_ = position;
  return arrow::Status::OK();
}

arrow::Result<int64_t> TierFile::Read(int64_t count, void* out) {
  ARROW_ASSIGN_OR_RAISE(const int64_t done, ReadAt(position_, count, true, out));
  position_ += done;
  return done;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> TierFile::Read(int64_t count) {
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> bytes, ReadAt(position_, count, true));
  position_ += bytes->size();
  return bytes;
}

arrow::Result<int64_t> TierFile::ReadAt(int64_t position, int64_t count, void* out) {
  return ReadAt(position, count, true, out);
}

arrow::Result<int64_t> TierFile::ReadAt(int64_t position, int64_t count, bool may_be_short,
                                        void* out) {
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Buffer> bytes,
                        ReadAt(position, count, may_be_short));
  if (bytes->size() > 0) std::memcpy(out, bytes->data(), static_cast<size_t>(bytes->size()));
  return bytes->size();
}

arrow::Result<std::shared_ptr<arrow::Buffer>> TierFile::ReadAt(int64_t position, int64_t count) {
  return ReadAt(position, count, true);
}

arrow::Result<std::shared_ptr<arrow::Buffer>> TierFile::ReadAt(int64_t position, int64_t count,
                                                               bool may_be_short) {
  if (position < 0 || count < 0) return arrow::Status::Invalid("a place before the shard's begin");
  const int64_t there = std::min(count, std::max<int64_t>(0, bytes_ - position));
  if (there < count && !may_be_short) {
    return arrow::Status::Invalid("the shard ends before what its footer says");
  }
  try {
    Buffer buffer;
    const Range range{static_cast<uint64_t>(position), static_cast<uint64_t>(there)};
    const Bytes bytes = there == 0 ? Bytes() : read_(range, buffer);
    return std::make_shared<OwnedBytes>(std::move(buffer), bytes);
  } catch (...) {
    failure_ = std::current_exception();
    return arrow::Status::IOError("the tier has failed");
  }
}

}  // namespace stoker
