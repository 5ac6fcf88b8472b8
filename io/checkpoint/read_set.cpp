#include "io/checkpoint/read_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>

#include "io/core/crc32c.h"
#include "io/core/memory.h"
#include "io/core/parallel.h"

// Threads take chunks in order from one counter, so that a big tensor keeps all of them busy. The
// CRC of a chunk is put together from those of the parts of tensors in it, which then give the CRCs
// of the tensors without another pass.

namespace stoker {
namespace {

// What a chunk holds of a tensor.
struct Part : TensorPiece {
  uint32_t sum = 0;
};

struct Chunk {
  size_t file = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
  uint32_t sum = 0;
};

std::string range_text(uint64_t begin, uint64_t end) {
  return fmt::format("bytes [{}, {})", begin, end);
}

std::string sums_text(uint32_t found, uint32_t expected) {
  return fmt::format(" (CRC-32C {:08x}, expected {:08x})", found, expected);
}

HostMemory chunk_buffer() { return allocate_huge(kChunkBytes, false); }

class SetReader {
 public:
  SetReader(const SetFiles& from, const std::string& directory, const Manifest& manifest,
            const std::vector<size_t>& files, const ChunkSink& sink)
      : from_(from), directory_(directory), manifest_(manifest), sink_(sink) {
    files_.resize(manifest.files.size());
    for (const size_t i : files) {
      const FileSums& file = manifest.files[i];
      files_[i] = from.open(directory + "/" + file.name, FileAccess::direct);
      for (size_t k = 0; k < file.chunks.size(); ++k) {
        const uint64_t begin = k * kChunkBytes;
        chunks_.push_back({i, begin, std::min(file.bytes, begin + kChunkBytes), file.chunks[k]});
      }
    }
  }

  void run(int64_t threads) {
    const auto most = std::max<int64_t>(1, static_cast<int64_t>(chunks_.size()));
    parallel_for(threads, std::min(threads, most), [this](int64_t) { work(); });
    if (failure_) std::rethrow_exception(failure_);
    check_tensors();
  }

 private:
  // The failure of the smallest chunk is kept. All chunks before it were taken before it, so that
  // damage is reported the same for any number of threads.
  void work() {
    size_t taken = chunks_.size();
    try {
      const HostMemory buffer = chunk_buffer();
      std::vector<Part> parts;
      while ((taken = next_++) < chunks_.size()) {
        const Chunk& chunk = chunks_[taken];
        const std::span bytes(buffer.data.get(), chunk.end - chunk.begin);
        files_[chunk.file]->read_at(chunk.begin, bytes);
        verify(chunk, bytes, parts);
        if (sink_) sink_(chunk.file, chunk.begin, bytes);
      }
      const std::lock_guard lock(mutex_);
      parts_.insert(parts_.end(), parts.begin(), parts.end());
    } catch (...) {
      next_ = chunks_.size();
      const std::lock_guard lock(mutex_);
      if (!failure_ || taken < failed_) failure_ = std::current_exception();
      failed_ = std::min(failed_, taken);
    }
  }

  // Adds what the chunk holds of tensors to `parts`.
  void verify(const Chunk& chunk, Bytes bytes, std::vector<Part>& parts) const {
    const size_t first = parts.size();
    collect(chunk, parts);
    uint32_t sum = 0;
    uint64_t at = chunk.begin;
    for (size_t i = first; i < parts.size(); ++i) {
      Part& part = parts[i];
      sum = crc32c(bytes.subspan(at - chunk.begin, part.offset - at), sum);
      part.sum = crc32c(bytes.subspan(part.offset - chunk.begin, part.bytes));
      sum = crc32c_combine(sum, part.sum, part.bytes);
      at = part.offset + part.bytes;
    }
    sum = crc32c(bytes.subspan(at - chunk.begin), sum);
    if (sum == chunk.sum) return;
    const std::string what =
        suspects(chunk, std::span(parts).subspan(first)) + sums_text(sum, chunk.sum);
    throw DamagedSet(path(chunk.file) + ": damaged in " + range_text(chunk.begin, chunk.end) +
                     what);
  }

  void collect(const Chunk& chunk, std::vector<Part>& parts) const {
    if (chunk.file >= manifest_.layout.files.size()) return;
    const std::vector<TensorPiece>& pieces = manifest_.layout.files[chunk.file].pieces;
    auto piece = std::partition_point(pieces.begin(), pieces.end(), [&](const TensorPiece& each) {
      return each.offset + each.bytes <= chunk.begin;
    });
    for (; piece != pieces.end() && piece->offset < chunk.end; ++piece) {
      const uint64_t begin = std::max(piece->offset, chunk.begin);
      const uint64_t end = std::min(piece->offset + piece->bytes, chunk.end);
      if (begin < end)
        parts.push_back(
            {{piece->tensor, piece->begin + (begin - piece->offset), end - begin, begin}});
    }
  }

  // ": tensor a bytes [0, 10), tensor b ...": those whose own checksums are wrong; where none is,
  // the header, and failing that, all.
  std::string suspects(const Chunk& chunk, std::span<const Part> parts) const {
    if (chunk.file >= manifest_.layout.files.size()) return "";
    std::vector<std::string> damaged, all;
    if (parts.empty() || chunk.begin < parts.front().offset) all.push_back("header");
    const bool header = !all.empty();
    for (const Part& part : parts) {
      all.push_back("tensor " + manifest_.layout.tensors[part.tensor].name + " " +
                    range_text(part.begin, part.begin + part.bytes));
      if (!intact(part)) damaged.push_back(all.back());
    }
    if (damaged.empty() && header) damaged.push_back(all.front());
    if (damaged.empty()) damaged = all;
    constexpr size_t most = 3;
    const auto shown = std::span(damaged).first(std::min(most, damaged.size()));
    std::string text = fmt::format(": {}", fmt::join(shown, ", "));
    if (damaged.size() > most) text += fmt::format(" and {} more", damaged.size() - most);
    return text;
  }

  // Whether the whole tensor of a part is what was written. A tensor that lies in other chunks as
  // well is read again: who hears of damage has the time.
  bool intact(const Part& part) const {
    const TensorInfo& tensor = manifest_.layout.tensors[part.tensor];
    const uint32_t expected = manifest_.tensor_sums[part.tensor];
    if (part.bytes == tensor.bytes) return part.sum == expected;
    try {
      return sum_of(part.tensor) == expected;
    } catch (const IoError&) {
      return false;
    }
  }

  uint32_t sum_of(size_t tensor) const {
    uint32_t sum = 0;
    const HostMemory buffer = chunk_buffer();
    for (const DataFile& file : manifest_.layout.files) {
      for (const TensorPiece& piece : file.pieces) {
        if (piece.tensor != tensor) continue;
        const SetFile source = from_.open(directory_ + "/" + file.name, FileAccess::buffered);
        for (uint64_t done = 0; done < piece.bytes;) {
          const std::span out(buffer.data.get(), std::min(kChunkBytes, piece.bytes - done));
          source.read_at(piece.offset + done, out);
          sum = crc32c(out, sum);
          done += out.size();
        }
      }
    }
    return sum;
  }

  void check_tensors() {
    std::ranges::sort(parts_, {},
                      [](const Part& part) { return std::pair(part.tensor, part.begin); });
    std::vector<uint32_t> sums(manifest_.layout.tensors.size());
    std::vector<uint64_t> bytes(sums.size());
    for (const Part& part : parts_) {
      sums[part.tensor] = crc32c_combine(sums[part.tensor], part.sum, part.bytes);
      bytes[part.tensor] += part.bytes;
    }
    for (size_t i = 0; i < sums.size(); ++i) {
      // Some of its files may be elsewhere.
      if (bytes[i] < manifest_.layout.tensors[i].bytes) continue;
      if (sums[i] == manifest_.tensor_sums[i]) continue;
      throw DamagedSet(from_.full(directory_) + ": tensor " + manifest_.layout.tensors[i].name +
                       " changed in memory before it was written" +
                       sums_text(sums[i], manifest_.tensor_sums[i]));
    }
  }

  std::string path(size_t file) const {
    return from_.full(directory_ + "/" + manifest_.files[file].name);
  }

  const SetFiles& from_;
  const std::string& directory_;
  const Manifest& manifest_;
  const ChunkSink& sink_;
  std::vector<std::optional<SetFile>> files_;  // of the manifest; those that are read
  std::vector<Chunk> chunks_;
  std::atomic<size_t> next_ = 0;
  std::mutex mutex_;
  std::vector<Part> parts_;
  std::exception_ptr failure_;
  size_t failed_ = SIZE_MAX;
};

}  // namespace

Manifest read_manifest(const SetFiles& from, const std::string& directory) {
  const std::string path = directory + "/" + kManifestName;
  const std::string full = from.full(path);
  if (!from.exists(path) && from.exists(directory)) throw DamagedSet(full + ": missing");
  std::string text;
  try {
    text = from.read_text(path, kMaxManifestBytes);
  } catch (const IoError& error) {
    // No call failed: it is too long, or was cut while it was read.
    if (error.errno_value() == 0) throw DamagedSet(error.what());
    throw;
  }
  try {
    return parse_manifest(text);
  } catch (const Error& error) {
    throw DamagedSet(full + ": " + error.what());
  }
}

std::vector<size_t> files_here(const SetFiles& from, const std::string& directory,
                               const Manifest& manifest) {
  const std::string place = from.full(directory) + "/";
  std::vector<std::string> known = {kManifestName};
  const std::vector<std::string> found = from.list(directory);
  std::vector<size_t> here;
  std::vector<std::string> names;
  for (size_t i = 0; i < manifest.files.size(); ++i) {
    const std::string& name = manifest.files[i].name;
    known.push_back(name);
    if (!std::binary_search(found.begin(), found.end(), name)) {
      if (manifest.parts > 1) continue;
      throw DamagedSet(place + name + ": missing");
    }
    here.push_back(i);
    names.push_back(name);
  }
  const std::vector<uint64_t> sizes = from.sizes(directory, names);
  for (size_t i = 0; i < here.size(); ++i) {
    const uint64_t expected = manifest.files[here[i]].bytes;
    if (sizes[i] == expected) continue;
    throw DamagedSet(
        fmt::format("{}{}: {} bytes, expected {}", place, names[i], sizes[i], expected));
  }
  std::sort(known.begin(), known.end());
  for (const std::string& name : found) {
    if (!std::binary_search(known.begin(), known.end(), name))
      throw DamagedSet(place + name + ": not in " + kManifestName);
  }
  return here;
}

void read_files(const SetFiles& from, const std::string& directory, const Manifest& manifest,
                const std::vector<size_t>& files, int64_t threads, const ChunkSink& sink) {
  SetReader(from, directory, manifest, files, sink).run(threads);
}

void read_set(const SetFiles& from, const std::string& directory, const Manifest& manifest,
              int64_t threads, const ChunkSink& sink) {
  const std::vector<size_t> here = files_here(from, directory, manifest);
  if (here.size() < manifest.files.size()) {
    throw DamagedSet(
        fmt::format("{}: holds {} of the set's {} files; {} ranks wrote it, each to its own tier",
                    from.full(directory), here.size(), manifest.files.size(), manifest.parts));
  }
  read_files(from, directory, manifest, here, threads, sink);
}

}  // namespace stoker
