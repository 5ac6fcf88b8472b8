#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "io/core/crc32c.h"
#include "io/core/wire/protobuf.h"
#include "io/dataset/formats/tfrecord/format.h"
#include "tests/fuzz/target.h"

namespace stoker {
namespace {

// A tier of which each object is the input.
class InputTier final : public Storage {
 public:
  explicit InputTier(Bytes input) : input_(input) {}
  std::vector<ObjectInfo> list(const std::string&) const override { return {}; }
  void read(const std::string&, Buffer& out, Range range) const override {
    const Bytes rest = input_.subspan(std::min<uint64_t>(range.offset, input_.size()));
    const Bytes part = rest.first(std::min<uint64_t>(range.length, rest.size()));
    std::ranges::copy(part, out.resize(part.size()));
  }
  std::unique_ptr<ObjectWriter> create(const std::string&) override { return nullptr; }
  void remove(const std::string&) override {}

 private:
  const Bytes input_;
};

// Makes the checksums right as far as the lengths lead, so that what is behind them is reached.
void correct(std::vector<uint8_t>& file) {
  uint64_t at = 0;
  while (file.size() - at >= kRecordHead) {
    uint64_t length = 0;
    for (size_t i = 0; i < 8; ++i) length |= uint64_t{file[at + i]} << (8 * i);
    std::ranges::copy(record_head(length), file.begin() + static_cast<int64_t>(at));
    at += kRecordHead;
    const uint64_t left = file.size() - at;
    if (left < kRecordTail || length > left - kRecordTail) return;
    const auto tail = record_tail(crc32c({file.data() + at, length}));
    std::ranges::copy(tail, file.begin() + static_cast<int64_t>(at + length));
    at += length + kRecordTail;
  }
}

// The input as the one Example of a file.
std::vector<uint8_t> as_record(Bytes example) {
  const auto head = record_head(example.size());
  std::vector<uint8_t> file(head.begin(), head.end());
  file.insert(file.end(), example.begin(), example.end());
  file.resize(file.size() + kRecordTail);
  correct(file);
  return file;
}

}  // namespace
}  // namespace stoker

// The first byte says what the others are: a file, one whose checksums are to be made right, or an
// Example.
STOKER_FUZZ_TARGET(tfrecord) {
  using namespace stoker;
  if (input.empty()) return;
  const Bytes rest = input.subspan(1);
  std::vector<uint8_t> file(rest.begin(), rest.end());
  if (input[0] % 3 == 1) correct(file);
  if (input[0] % 3 == 2) file = as_record(rest);
  const InputTier tier(file);
  const TFRecordFormat format(
      {"image/encoded", "image/class/label", "image/class/text", "image/filename"});
  Buffer stored;
  for (const ShardSample& sample : format.scan(tier, {"s", file.size()}).samples) {
    fuzz::require(sample.offset <= file.size() && sample.bytes <= file.size() - sample.offset,
                  "a sample is not in its shard");
    if (sample.bad) continue;
    tier.read("s", stored, {sample.offset, sample.bytes});
    Bytes image;
    try {
      image = format.payload(stored);
    } catch (const std::exception&) {
      fuzz::require(false, "a sample that was found good is bad");
    }
    fuzz::require(image.size() < stored.size() && !sample.key.empty() &&
                      (sample.label.has_value() || !class_of(sample.key).empty()),
                  "a sample is none");
  }
}
