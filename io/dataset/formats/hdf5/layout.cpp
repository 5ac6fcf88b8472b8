#include "io/dataset/formats/hdf5/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "io/core/error.h"
#include "io/core/text/text.h"
#include "io/dataset/formats/hdf5/chunk.h"

namespace stoker {
namespace {

// More elements than that are a slip: positions of a sample's bytes stay far from 2^64.
constexpr uint64_t kMaxBytes = uint64_t{1} << 56;

BadSample bad_place(const std::string& why) { return {BadReason::corrupt, why}; }

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

Hdf5Array read_array(Answer& answer) {
  Hdf5Array array;
  const uint64_t kind = answer.word();
  if (kind != 'u' && kind != 'i' && kind != 'f') refuse("its numbers are of no known kind");
  array.kind = static_cast<char>(kind);
  array.element_bytes = answer.word();
  array.shape = answer.words<uint64_t>(kHdf5MaxRank);
  for (uint64_t i = answer.count(kHdf5MaxFilters); i > 0; --i) {
    const auto filter = static_cast<Hdf5Filter>(answer.word());
    array.filters.push_back({filter, answer.word()});
  }
  array.chunk_rows = answer.word();
  const auto chunks = answer.words<uint64_t>(3 * kHdf5MaxSamples);
  if (chunks.size() % 3 != 0) refuse("a chunk is incomplete");
  for (size_t i = 0; i < chunks.size(); i += 3) {
    array.chunks.push_back({chunks[i], chunks[i + 1], chunks[i + 2]});
  }
  return array;
}

Hdf5Layout read_layout(Bytes bytes) {
  Answer answer(bytes);
  Hdf5Layout layout;
  layout.form = static_cast<Hdf5Form>(answer.word());
  layout.images = read_array(answer);
  layout.offsets = answer.words<uint64_t>(kHdf5MaxSamples + 1);
  layout.labels = answer.words<int64_t>(kHdf5MaxSamples);
  layout.key_width = answer.count(kHdf5MaxKey);
  layout.keys = answer.text(kHdf5MaxAnswer);
  for (uint64_t i = answer.count(kHdf5MaxBeside); i > 0; --i) {
    layout.beside.push_back(read_array(answer));
  }
  if (!answer.at_end()) refuse("it goes on behind its end");
  return layout;
}

// A data set, as bytes one after another in C order.
struct Extent {
  uint64_t row = 0;    // bytes of a row
  uint64_t total = 0;  // bytes of all rows
  uint64_t chunk = 0;  // bytes of every chunk, the last one included
};

Extent extent_of(const Hdf5Array& array) {
  if (array.shape.empty()) refuse("its shape is none");
  std::optional<uint64_t> row = array.element_bytes;
  for (size_t i = 1; row && i < array.shape.size(); ++i) row = product(*row, array.shape[i]);
  const std::optional<uint64_t> total = row ? product(*row, array.shape[0]) : row;
  const std::optional<uint64_t> chunk = row ? product(*row, array.chunk_rows) : row;
  if (!total || !chunk || *row == 0) refuse("its shape is none");
  return {*row, *total, *chunk};
}

uint64_t samples_of(const Hdf5Layout& layout) {
  const Hdf5Array& images = layout.images;
  uint64_t samples = 0;
  switch (layout.form) {
    case Hdf5Form::file:
      samples = 1;
      break;
    case Hdf5Form::rows:
      samples = images.shape.empty() ? 0 : images.shape[0];
      break;
    case Hdf5Form::encoded:
      if (images.element_bytes != 1 || images.shape.size() != 1 || layout.offsets.empty()) {
        refuse("no encoded files");
      }
      samples = layout.offsets.size() - 1;
      break;
    default:
      refuse("its form is unknown");
  }
  if (samples > kHdf5MaxSamples) refuse("it has too many samples");
  return samples;
}

bool lies_in(const Hdf5Chunk& chunk, uint64_t shard_bytes) {
  return chunk.address <= shard_bytes && chunk.bytes <= shard_bytes - chunk.address;
}

void check_chunks(const Hdf5Array& array, uint64_t shard_bytes) {
  const Extent extent = extent_of(array);
  for (const Hdf5Chunk& chunk : array.chunks) {
    if (!lies_in(chunk, shard_bytes)) refuse("a part of it lies behind the end of the file");
  }
  if (array.chunk_rows == 0) {
    const bool whole = array.chunks.size() == 1 && array.chunks[0].bytes >= extent.total &&
                       array.filters.empty() && array.chunks[0].skipped == 0;
    if (!whole) refuse("it holds fewer bytes than its shape says");
    return;
  }
  const uint64_t needed =
      array.shape[0] / array.chunk_rows + (array.shape[0] % array.chunk_rows == 0 ? 0 : 1);
  if (array.chunks.size() != needed) refuse("its chunks do not cover it");
}

// The chunk's filters as one number; empty: it does not make sense.
std::optional<uint64_t> packing_of(const Hdf5Array& array, const Hdf5Chunk& chunk) {
  std::vector<Hdf5FilterUse> used;
  for (size_t i = 0; i < array.filters.size(); ++i) {
    if ((chunk.skipped >> i & 1) == 0) used.push_back(array.filters[i]);
  }
  return hdf5_packing(used);
}

// Adds the part [begin, end) of a data set in chunks to the sample, or says why it is bad.
void add_chunked(ShardSample& sample, const Hdf5Array& array, const Extent& extent, uint64_t begin,
                 uint64_t end) {
  while (begin < end) {
    const uint64_t number = begin / extent.chunk;
    const uint64_t skip = begin % extent.chunk;
    const Hdf5Chunk& chunk = array.chunks[number];
    const uint64_t taken = std::min(end - begin, extent.chunk - skip);
    const std::optional<uint64_t> packing = packing_of(array, chunk);
    if (chunk.bytes == 0) {
      sample.bad = bad_place("a part of it was never written");
      return;
    }
    const bool plain = packing == uint64_t{0};
    if (!packing ||
        (plain ? chunk.bytes != extent.chunk : !hdf5_chunk_fits(chunk.bytes, extent.chunk))) {
      sample.bad = bad_place("its chunk contradicts itself");
      return;
    }
    if (plain) {
      sample.parts.push_back({chunk.address + skip, taken, taken, 0, 0, taken});
    } else {
      sample.parts.push_back({chunk.address, chunk.bytes, extent.chunk, *packing, skip, taken});
    }
    begin += taken;
  }
}

// Adds the bytes [begin, end) of a data set to the sample.
void add(ShardSample& sample, const Hdf5Array& array, uint64_t begin, uint64_t end) {
  if (sample.bad) return;
  const Extent extent = extent_of(array);
  if (begin > end || end > extent.total) {
    sample.bad = bad_place("its offsets are none of its data set");
    return;
  }
  sample.bytes += end - begin;
  if (array.chunk_rows != 0) {
    add_chunked(sample, array, extent, begin, end);
  } else {
    sample.parts.push_back(
        {array.chunks[0].address + begin, end - begin, end - begin, 0, 0, end - begin});
  }
}

// One that lies as it is, in one piece, is read as any other.
void settle(ShardSample& sample, uint64_t shard_bytes) {
  if (sample.bad) sample.parts.clear();
  if (sample.parts.size() != 1 || sample.parts[0].packing != 0) return;
  sample.offset = sample.parts[0].offset;
  sample.parts.clear();
  const uint64_t left = shard_bytes - std::min(sample.offset, shard_bytes);
  if (sample.bytes > left) {
    sample.bad = BadSample(BadReason::truncated, "its shard ends in the middle of it");
  }
}

// A sample's part of a data set: a row of it, or all.
StoredArray stored_array(const Hdf5Array& array, bool row) {
  const char* const kind = array.kind == 'f' ? "float" : array.kind == 'i' ? "int" : "uint";
  StoredArray result{fmt::format("{}{}", kind, 8 * array.element_bytes), {}};
  for (size_t i = row ? 1 : 0; i < array.shape.size(); ++i) {
    result.shape.push_back(static_cast<int64_t>(array.shape[i]));
  }
  return result;
}

// What its samples are; encoded files are no arrays.
std::vector<std::vector<StoredArray>> arrays_of(const Hdf5Layout& layout) {
  if (layout.form == Hdf5Form::encoded) return {};
  const bool row = layout.form == Hdf5Form::rows;
  std::vector<StoredArray> arrays{stored_array(layout.images, row)};
  for (const Hdf5Array& array : layout.beside) arrays.push_back(stored_array(array, row));
  return {arrays};
}

// Bytes of encoded files that no offset reaches.
std::vector<std::string> unreached(const Hdf5Layout& layout) {
  std::vector<std::string> passed_over;
  if (layout.form != Hdf5Form::encoded) return passed_over;
  const uint64_t total = extent_of(layout.images).total;
  if (layout.offsets.front() > 0) {
    passed_over.push_back(
        fmt::format("{} bytes in front of its first sample", layout.offsets.front()));
  }
  if (layout.offsets.back() < total) {
    passed_over.push_back(
        fmt::format("{} bytes behind its last sample", total - layout.offsets.back()));
  }
  return passed_over;
}

}  // namespace

Hdf5Layout parse_hdf5_layout(Bytes answer, uint64_t shard_bytes) {
  Hdf5Layout layout = read_layout(answer);
  const uint64_t samples = samples_of(layout);
  // Rows that were never written take no place in the file, but memory here.
  if (samples > shard_bytes) refuse("it has more samples than bytes");
  check_chunks(layout.images, shard_bytes);
  for (const Hdf5Array& array : layout.beside) {
    check_chunks(array, shard_bytes);
    if (layout.form != Hdf5Form::file && array.shape[0] != samples) {
      refuse(fmt::format("{} rows are to follow {} samples", array.shape[0], samples));
    }
  }
  if (!layout.labels.empty() && layout.labels.size() != samples) {
    refuse(fmt::format("it has {} labels for {} samples", layout.labels.size(), samples));
  }
  if (layout.keys.size() != layout.key_width * samples) {
    refuse("it has not one key for each sample");
  }
  return layout;
}

ShardContents hdf5_contents(const Hdf5Layout& layout, uint64_t shard_bytes,
                            const std::string& stem) {
  const Extent extent = extent_of(layout.images);
  ShardContents contents;
  std::vector<ShardSample>& samples = contents.samples;
  samples.resize(samples_of(layout));
  uint64_t reached = 0;
  for (uint64_t i = 0; i < samples.size(); ++i) {
    ShardSample& sample = samples[i];
    const std::string key(layout.keys, layout.key_width * i, layout.key_width);
    sample.key = to_text(key.substr(0, key.find('\0')));
    const std::string folder = class_of(sample.key.empty() ? stem : sample.key);
    if (sample.key.empty()) sample.key = fmt::format("{}/{}", stem, i);
    if (!layout.labels.empty()) sample.label = layout.labels[i];
    sample.named = !sample.label && !folder.empty();
    const bool file = layout.form == Hdf5Form::file;
    if (layout.form == Hdf5Form::encoded) {
      // No sample overlaps another, so there are no more parts than samples and chunks.
      if (layout.offsets[i] < reached)
        sample.bad = bad_place("its offsets are none of its data set");
      add(sample, layout.images, layout.offsets[i], layout.offsets[i + 1]);
      reached = std::max(reached, std::min(layout.offsets[i + 1], extent.total));
    } else {
      add(sample, layout.images, file ? 0 : i * extent.row,
          file ? extent.total : (i + 1) * extent.row);
    }
    for (const Hdf5Array& array : layout.beside) {
      const Extent of = extent_of(array);
      add(sample, array, file ? 0 : i * of.row, file ? of.total : (i + 1) * of.row);
    }
    settle(sample, shard_bytes);
  }
  contents.arrays = arrays_of(layout);
  contents.passed_over = unreached(layout);
  return contents;
}

}  // namespace stoker
