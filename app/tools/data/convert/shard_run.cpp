#include "app/tools/data/convert/shard_run.h"

#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "io/core/threads.h"
#include "io/dataset/read_sample.h"

namespace stoker {
namespace {

// Samples that are read at once, and their bytes together.
constexpr size_t kBlock = 64;
constexpr uint64_t kBlockBytes = uint64_t{16} << 20;

}  // namespace

// A sample of a block.
struct ShardRun::Slot {
  Buffer scratch;
  Buffer pixels;
  Bytes bytes;
  uint64_t xxh3 = 0;
  std::optional<BadSample> bad;
  std::string tolerated;
};

uint64_t sample_hash(Bytes bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

ShardRun::ShardRun(const SampleSource& source, Check check, Count count)
    : source_(source), check_(std::move(check)), count_(std::move(count)), slots_(kBlock) {
  for (int64_t i = 0; source_.decoder != nullptr && i < source_.threads; ++i)
    sessions_.push_back(source_.decoder->open());
}

ShardRun::~ShardRun() = default;

ShardReceipt ShardRun::run(Split split, std::span<const int64_t> samples, ShardWriter& writer) {
  ShardReceipt receipt;
  receipt.written.split = split;
  while (!samples.empty()) {
    const auto now = samples.first(block(split, samples));
    samples = samples.subspan(now.size());
    parallel_for(source_.threads, source_.threads,
                 [&](int64_t thread) { read(split, now, static_cast<size_t>(thread)); });
    for (size_t i = 0; i < now.size(); ++i) add(split, now[i], slots_[i], writer, receipt);
  }
  return receipt;
}

size_t ShardRun::block(Split split, std::span<const int64_t> samples) const {
  size_t count = 0;
  for (uint64_t bytes = 0; count < std::min(samples.size(), kBlock); ++count) {
    bytes += source_.decoder != nullptr ? source_.decoder->spec().bytes() : 0;
    bytes += source_.dataset.info(split, samples[count]).bytes;
    if (bytes > kBlockBytes && count > 0) break;
  }
  return count;
}

void ShardRun::read(Split split, std::span<const int64_t> samples, size_t thread) {
  DecoderSession* const session = sessions_.empty() ? nullptr : sessions_[thread].get();
  for (size_t i = thread; i < samples.size(); i += static_cast<size_t>(source_.threads)) {
    check_();
    read(split, samples[i], session, slots_[i]);
  }
}

void ShardRun::read(Split split, int64_t index, DecoderSession* session, Slot& slot) const {
  slot.bad.reset();
  try {
    const SamplePlace place{source_.dataset, split, index};
    const EncodedSample sample = read_sample(place, slot.scratch);
    slot.bytes = sample.bytes;
    slot.tolerated = sample.tolerated;
    if (session != nullptr) {
      uint8_t* const pixels = slot.pixels.resize(source_.decoder->spec().bytes());
      slot.tolerated = decode_sample(place, sample, *session, {}, pixels);
      slot.bytes = slot.pixels.bytes();
    }
    slot.xxh3 = sample_hash(slot.bytes);
  } catch (const BadSample& bad) {
    slot.bad = bad;
  }
}

void ShardRun::add(Split split, int64_t index, Slot& slot, ShardWriter& writer,
                   ShardReceipt& receipt) {
  const SampleInfo info = source_.dataset.info(split, index);
  if (slot.bad) {
    receipt.left_out.push_back({info.key, to_string(slot.bad->reason()), slot.bad->what()});
    return count_(&receipt.left_out.back());
  }
  writer.add({info.key, info.label, slot.bytes});
  receipt.written.samples.push_back({info.key, info.label, slot.bytes.size(), slot.xxh3});
  if (!slot.tolerated.empty()) receipt.tolerated.push_back({info.key, slot.tolerated});
  count_(nullptr);
}

}  // namespace stoker
