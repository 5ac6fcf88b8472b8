#include "io/dataset/hdf5/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "io/core/error.h"
#include "io/core/text.h"
#include "io/dataset/hdf5/chunk.h"

namespace stoker {
namespace {

// More elements than that are a slip: positions of a sample's bytes stay far from 2^64.
constexpr uint64_t kMaxBytes = uint64_t{1} << 56;

constexpr const char* kNoPlace = "its offsets are none of its data set";

[[noreturn]] void refuse(const std::string& why) { throw Error(ExitCode::data, why); }

// Empty: above kMaxBytes.
std::optional<uint64_t> product(uint64_t a, uint64_t b) {
  if (a != 0 && b > kMaxBytes / a) return std::nullopt;
  return a * b;
}

// The words of an answer, one after another.
class Answer {
 public:
  explicit Answer(Bytes bytes) : rest_(bytes) {}

  uint64_t word() {
    uint64_t value = 0;
    std::memcpy(&value, take(1, sizeof value).data(), sizeof value);
    return value;
  }
  // The length of a list.
  uint64_t count(uint64_t most) {
    const uint64_t value = word();
    if (value > most) refuse("a list is longer than possible");
    return value;
  }
  template <class T>
  std::vector<T> words(uint64_t most) {
    static_assert(sizeof(T) == sizeof(uint64_t));
    std::vector<T> values(0);
    const uint64_t length = count(std::min<uint64_t>(most, rest_.size() / sizeof(T)));
    values.resize(length);
    if (length != 0) std::memcpy(values.data(), take(length, sizeof(T)).data(), length * sizeof(T));
    return values;
  }
  std::string text(uint64_t most) {
    const Bytes bytes = take(count(most), 1);
    return {bytes.begin(), bytes.end()};
  }
  bool at_end() const { return rest_.empty(); }

 private:
  Bytes take(uint64_t items, uint64_t each) {
    if (items > rest_.size() / each) refuse("it ends too early");
    const Bytes taken = rest_.first(items * each);
    rest_ = rest_.subspan(items * each);
    return taken;
  }

  Bytes rest_;
};

Hdf5Layout read_layout(Bytes bytes) {
  Answer answer(bytes);
  Hdf5Layout layout;
  layout.form = static_cast<Hdf5Form>(answer.word());
  layout.element_bytes = answer.word();
  layout.shape = answer.words<uint64_t>(kHdf5MaxRank);
  for (uint64_t i = answer.count(kHdf5MaxFilters); i > 0; --i) {
    const auto filter = static_cast<Hdf5Filter>(answer.word());
    layout.filters.push_back({filter, answer.word()});
  }
  layout.chunk_rows = answer.word();
  const auto chunks = answer.words<uint64_t>(3 * kHdf5MaxSamples);
  if (chunks.size() % 3 != 0) refuse("a chunk is incomplete");
  for (size_t i = 0; i < chunks.size(); i += 3) {
    layout.chunks.push_back({chunks[i], chunks[i + 1], chunks[i + 2]});
  }
  layout.offsets = answer.words<uint64_t>(kHdf5MaxSamples + 1);
  layout.labels = answer.words<int64_t>(kHdf5MaxSamples);
  layout.key_width = answer.count(kHdf5MaxKey);
  layout.keys = answer.text(kHdf5MaxAnswer);
  if (!answer.at_end()) refuse("it goes on behind its end");
  return layout;
}

// Its data set, as bytes one after another in C order.
struct Extent {
  uint64_t row = 0;    // bytes of a row
  uint64_t total = 0;  // bytes of all rows
  uint64_t chunk = 0;  // bytes of a chunk, of the last one as well
  uint64_t samples = 0;
};

Extent extent_of(const Hdf5Layout& layout) {
  const bool known = layout.form == Hdf5Form::encoded || layout.form == Hdf5Form::rows ||
                     layout.form == Hdf5Form::file;
  if (!known || layout.shape.empty()) refuse("its form is unknown");
  Extent extent;
  std::optional<uint64_t> row = layout.element_bytes;
  for (size_t i = 1; row && i < layout.shape.size(); ++i) row = product(*row, layout.shape[i]);
  const std::optional<uint64_t> total = row ? product(*row, layout.shape[0]) : row;
  const std::optional<uint64_t> chunk = row ? product(*row, layout.chunk_rows) : row;
  if (!total || !chunk || *row == 0) refuse("its shape is none");
  extent = {*row, *total, *chunk, layout.shape[0]};
  if (layout.form == Hdf5Form::file) extent.samples = 1;
  if (layout.form == Hdf5Form::encoded) {
    if (*row != 1 || layout.shape.size() != 1 || layout.offsets.empty()) refuse("no encoded files");
    extent.samples = layout.offsets.size() - 1;
  }
  if (extent.samples > kHdf5MaxSamples) refuse("it has too many samples");
  return extent;
}

bool lies_in(const Hdf5Chunk& chunk, uint64_t shard_bytes) {
  return chunk.address <= shard_bytes && chunk.bytes <= shard_bytes - chunk.address;
}

void check_chunks(const Hdf5Layout& layout, const Extent& extent, uint64_t shard_bytes) {
  // Rows that were never written take no place in the file, but memory here.
  if (extent.samples > shard_bytes) refuse("it has more samples than bytes");
  for (const Hdf5Chunk& chunk : layout.chunks) {
    if (!lies_in(chunk, shard_bytes)) refuse("a part of it lies behind the end of the file");
  }
  if (layout.chunk_rows == 0) {
    const bool whole = layout.chunks.size() == 1 && layout.chunks[0].bytes >= extent.total &&
                       layout.filters.empty() && layout.chunks[0].skipped == 0;
    if (!whole) refuse("it holds fewer bytes than its shape says");
    return;
  }
  const uint64_t needed =
      layout.shape[0] / layout.chunk_rows + (layout.shape[0] % layout.chunk_rows == 0 ? 0 : 1);
  if (layout.chunks.size() != needed) refuse("its chunks do not cover it");
}

// The chunk's filters as one number; empty: it does not make sense.
std::optional<uint64_t> packing_of(const Hdf5Layout& layout, const Hdf5Chunk& chunk) {
  std::vector<Hdf5FilterUse> used;
  for (size_t i = 0; i < layout.filters.size(); ++i) {
    if ((chunk.skipped >> i & 1) == 0) used.push_back(layout.filters[i]);
  }
  return hdf5_packing(used);
}

// Adds the bytes [begin, end) of the data set to the sample; why it can't.
std::string add_parts(ShardSample& sample, const Hdf5Layout& layout, const Extent& extent,
                      uint64_t begin, uint64_t end) {
  while (begin < end) {
    const uint64_t number = begin / extent.chunk;
    const uint64_t skip = begin % extent.chunk;
    const Hdf5Chunk& chunk = layout.chunks[number];
    const uint64_t taken = std::min(end - begin, extent.chunk - skip);
    const std::optional<uint64_t> packing = packing_of(layout, chunk);
    if (chunk.bytes == 0) return "a part of it was never written";
    const bool plain = packing == uint64_t{0};
    if (!packing ||
        (plain ? chunk.bytes != extent.chunk : !hdf5_chunk_fits(chunk.bytes, extent.chunk))) {
      return "its chunk contradicts itself";
    }
    if (plain) {
      sample.parts.push_back({chunk.address + skip, taken, taken, 0, 0, taken});
    } else {
      sample.parts.push_back({chunk.address, chunk.bytes, extent.chunk, *packing, skip, taken});
    }
    begin += taken;
  }
  return "";
}

void place(ShardSample& sample, const Hdf5Layout& layout, const Extent& extent, uint64_t begin,
           uint64_t end) {
  if (begin > end || end > extent.total) {
    sample.bad = kNoPlace;
    return;
  }
  sample.bytes = end - begin;
  if (layout.chunk_rows == 0) {
    sample.offset = layout.chunks[0].address + begin;
    return;
  }
  sample.bad = add_parts(sample, layout, extent, begin, end);
  // One that lies as it is, in one chunk, is read as any other.
  if (sample.bad.empty() && sample.parts.size() == 1 && sample.parts[0].packing == 0) {
    sample.offset = sample.parts[0].offset;
    sample.parts.clear();
  }
}

}  // namespace

Hdf5Layout parse_hdf5_layout(Bytes answer, uint64_t shard_bytes) {
  Hdf5Layout layout = read_layout(answer);
  const Extent extent = extent_of(layout);
  check_chunks(layout, extent, shard_bytes);
  if (!layout.labels.empty() && layout.labels.size() != extent.samples) {
    refuse(fmt::format("it has {} labels for {} samples", layout.labels.size(), extent.samples));
  }
  if (layout.keys.size() != layout.key_width * extent.samples) {
    refuse("it has not one key for each sample");
  }
  return layout;
}

std::vector<ShardSample> hdf5_samples(const Hdf5Layout& layout, uint64_t shard_bytes,
                                      const std::string& stem) {
  const Extent extent = extent_of(layout);
  std::vector<ShardSample> samples(extent.samples);
  uint64_t reached = 0;
  for (uint64_t i = 0; i < extent.samples; ++i) {
    ShardSample& sample = samples[i];
    const std::string key(layout.keys, layout.key_width * i, layout.key_width);
    sample.key = to_text(key.substr(0, key.find('\0')));
    if (sample.key.empty()) sample.key = fmt::format("{}/{}", stem, i);
    if (!layout.labels.empty()) sample.label = layout.labels[i];
    switch (layout.form) {
      case Hdf5Form::encoded:
        // None overlaps another: so there are no more parts than samples and chunks.
        if (layout.offsets[i] < reached) {
          sample.bad = kNoPlace;
        } else {
          place(sample, layout, extent, layout.offsets[i], layout.offsets[i + 1]);
        }
        reached = std::max(reached, std::min(layout.offsets[i + 1], extent.total));
        break;
      case Hdf5Form::rows:
        place(sample, layout, extent, i * extent.row, (i + 1) * extent.row);
        break;
      default:
        place(sample, layout, extent, 0, extent.total);
    }
    if (!sample.bad.empty()) sample.parts.clear();
    const uint64_t left = shard_bytes - std::min(sample.offset, shard_bytes);
    if (sample.bad.empty() && sample.parts.empty() && sample.bytes > left) {
      sample.bad = "its shard ends in the middle of it";
    }
  }
  return samples;
}

}  // namespace stoker
