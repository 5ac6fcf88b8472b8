#include "io/checkpoint/restoring/read_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "io/core/crc32c.h"
#include "io/core/system/memory.h"

// Whoever gets a piece sums it; whoever finishes a chunk checks it. Its CRC is put together from
// those of the parts of tensors in it, which then give the CRCs of the tensors without another
// pass.

namespace stoker {
namespace {

// What is read at once into memory that is wanted as a whole.
constexpr uint64_t kPieceBytes = 4ull << 20;

// A request to objects is dear.
uint64_t load_request_bytes(const SetFiles& from) {
  return from.tree() == nullptr ? kChunkBytes : kPieceBytes;
}

// What some bytes of a file hold of a tensor.
struct Part : TensorPiece {
  uint32_t sum = 0;
};

// What was found in a piece of a chunk.
struct PieceSums {
  uint32_t sum = 0;
  uint64_t bytes = 0;
  std::vector<Part> parts;
};

struct Chunk {
  size_t file = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
  uint32_t sum = 0;
  std::vector<PieceSums> pieces = {};
  size_t unread = 0;
};

// The place of a piece in its chunk.
struct Place {
  size_t chunk = 0;
  size_t number = 0;
};

std::string range_text(uint64_t begin, uint64_t end) {
  return fmt::format("bytes [{}, {})", begin, end);
}

std::string sums_text(uint32_t found, uint32_t expected) {
  return fmt::format(" (CRC-32C {:08x}, expected {:08x})", found, expected);
}

class SetReader {
 public:
  // `memory` may be empty; else it holds a span for each file, and there is no sink.
  SetReader(const SetFiles& from, const std::string& directory, const Manifest& manifest,
            const std::vector<size_t>& files, const ChunkSink& sink, const FileMemory& memory)
      : from_(from), directory_(directory), manifest_(manifest), sink_(sink), memory_(memory) {
    files_.resize(manifest.files.size());
    piece_bytes_ = memory.empty() ? kChunkBytes : load_request_bytes(from);
    for (const size_t i : files) {
      const FileSums& file = manifest.files[i];
      files_[i] = from.open(directory + "/" + file.name, FileAccess::direct);
      for (size_t k = 0; k < file.chunks.size(); ++k) {
        const uint64_t begin = k * kChunkBytes;
        add({i, begin, std::min(file.bytes, begin + kChunkBytes), file.chunks[k]});
      }
    }
  }

  void run(int64_t threads) {
    PieceReading reading{.threads = threads, .place = {}, .done = {}, .beside = !memory_.empty()};
    reading.done = [this](size_t piece, Bytes bytes) { done(piece, bytes); };
    if (!memory_.empty()) {
      reading.place = [this](size_t piece) {
        return memory_[pieces_[piece].file].data() + pieces_[piece].begin;
      };
    }
    read_pieces(files_, pieces_, reading);
    check_tensors();
  }

 private:
  void add(Chunk chunk) {
    for (uint64_t at = chunk.begin; at < chunk.end; at += piece_bytes_) {
      places_.push_back({chunks_.size(), chunk.unread++});
      pieces_.push_back({chunk.file, at, std::min(chunk.end, at + piece_bytes_)});
    }
    chunk.pieces.resize(chunk.unread);
    chunks_.push_back(std::move(chunk));
  }

  void done(size_t number, Bytes bytes) {
    const FilePiece& piece = pieces_[number];
    const Place& place = places_[number];
    if (!finishes(place, sum(piece, bytes))) return;
    Chunk& chunk = chunks_[place.chunk];
    check(chunk);
    if (sink_) sink_(chunk.file, chunk.begin, bytes);
  }

  PieceSums sum(const FilePiece& piece, Bytes bytes) const {
    PieceSums sums{0, bytes.size(), parts_in(piece.file, piece.begin, piece.end)};
    const auto take = [&](uint64_t begin, uint64_t end) {
      const Bytes some = bytes.subspan(begin - piece.begin, end - begin);
      const uint32_t sum = crc32c(some);
      sums.sum = crc32c_combine(sums.sum, sum, some.size());
      return sum;
    };
    uint64_t at = piece.begin;
    for (Part& part : sums.parts) {
      take(at, part.offset);
      part.sum = take(part.offset, part.offset + part.bytes);
      at = part.offset + part.bytes;
    }
    take(at, piece.end);
    return sums;
  }

  // Whether it was the last one of its chunk.
  bool finishes(const Place& place, PieceSums sums) {
    const std::lock_guard lock(mutex_);
    Chunk& chunk = chunks_[place.chunk];
    chunk.pieces[place.number] = std::move(sums);
    return --chunk.unread == 0;
  }

  void check(Chunk& chunk) {
    uint32_t sum = 0;
    std::vector<Part> parts;
    for (const PieceSums& piece : std::exchange(chunk.pieces, {})) {
      sum = crc32c_combine(sum, piece.sum, piece.bytes);
      for (const Part& part : piece.parts) {
        if (parts.empty() || parts.back().tensor != part.tensor) {
          parts.push_back(part);
        } else {
          parts.back().sum = crc32c_combine(parts.back().sum, part.sum, part.bytes);
          parts.back().bytes += part.bytes;
        }
      }
    }
    if (sum != chunk.sum) {
      throw DamagedSet(path(chunk.file) + ": damaged in " + range_text(chunk.begin, chunk.end) +
                       suspects(chunk, parts) + sums_text(sum, chunk.sum));
    }
    const std::lock_guard lock(mutex_);
    parts_.insert(parts_.end(), parts.begin(), parts.end());
  }

  // What bytes [begin, end) of a file hold of tensors, not summed yet.
  std::vector<Part> parts_in(size_t file, uint64_t begin, uint64_t end) const {
    std::vector<Part> parts;
    if (file >= manifest_.layout.files.size()) return parts;
    const std::vector<TensorPiece>& pieces = manifest_.layout.files[file].pieces;
    auto piece = std::partition_point(pieces.begin(), pieces.end(), [&](const TensorPiece& each) {
      return each.offset + each.bytes <= begin;
    });
    for (; piece != pieces.end() && piece->offset < end; ++piece) {
      const uint64_t first = std::max(piece->offset, begin);
      const uint64_t last = std::min(piece->offset + piece->bytes, end);
      if (first < last)
        parts.push_back(
            {{piece->tensor, piece->begin + (first - piece->offset), last - first, first}});
    }
    return parts;
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
    const HostMemory buffer = allocate_huge(kChunkBytes, false);
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
  const FileMemory& memory_;
  uint64_t piece_bytes_ = 0;
  std::vector<std::optional<SetFile>> files_;  // of the manifest; those that are read
  std::vector<Chunk> chunks_;
  std::vector<FilePiece> pieces_;
  std::vector<Place> places_;  // of each
  std::mutex mutex_;
  std::vector<Part> parts_;
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

std::vector<size_t> whole_set(const SetFiles& from, const std::string& directory,
                              const Manifest& manifest) {
  std::vector<size_t> here = files_here(from, directory, manifest);
  if (here.size() < manifest.files.size()) {
    throw DamagedSet(
        fmt::format("{}: holds {} of the set's {} files; {} ranks wrote it, each to its own tier",
                    from.full(directory), here.size(), manifest.files.size(), manifest.parts));
  }
  return here;
}

void read_files(const SetFiles& from, const std::string& directory, const Manifest& manifest,
                const std::vector<size_t>& files, int64_t threads, const ChunkSink& sink) {
  SetReader(from, directory, manifest, files, sink, {}).run(threads);
}

void load_files(const SetFiles& from, const std::string& directory, const Manifest& manifest,
                const std::vector<size_t>& files, int64_t threads, const FileMemory& memory) {
  SetReader(from, directory, manifest, files, {}, memory).run(threads);
}

PieceReport read_plainly(const SetFiles& from, const std::string& directory,
                         const Manifest& manifest, int64_t threads) {
  const uint64_t most = load_request_bytes(from);
  std::vector<std::optional<SetFile>> files;
  std::vector<FilePiece> pieces;
  for (const FileSums& file : manifest.files) {
    for (uint64_t at = 0; at < file.bytes; at += most) {
      pieces.push_back({files.size(), at, std::min(file.bytes, at + most)});
    }
    files.emplace_back(from.open(directory + "/" + file.name, FileAccess::direct));
  }
  return read_pieces(files, pieces, {.threads = threads});
}

void read_set(const SetFiles& from, const std::string& directory, const Manifest& manifest,
              int64_t threads, const ChunkSink& sink) {
  read_files(from, directory, manifest, whole_set(from, directory, manifest), threads, sink);
}

}  // namespace stoker
