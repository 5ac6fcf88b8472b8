#include "io/checkpoint/restoring/loaded_state.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "io/core/threads.h"

namespace stoker {

LoadedState::LoadedState(const SetFiles& from, const std::string& directory, int64_t threads,
                         const Room& room)
    : manifest_(read_manifest(from, directory)), path_(from.full(directory)) {
  // Before memory is allocated by their sizes.
  const std::vector<size_t> files = whole_set(from, directory, manifest_);
  allocate(room);
  read(from, directory, files, threads);
}

LoadedState::LoadedState(Manifest manifest, std::string path, const Room& room)
    : manifest_(std::move(manifest)), path_(std::move(path)) {
  allocate(room);
}

void LoadedState::allocate(const Room& room) {
  std::vector<uint64_t> used;  // past the page cache, memory is read to by whole blocks
  for (const HostMemory& memory : room) {
    const auto address = reinterpret_cast<uintptr_t>(memory.data.get());
    const uint64_t skipped = rounded_up(address, kDirectAlignment) - address;
    used.push_back(std::min<uint64_t>(skipped, memory.bytes));
  }
  const auto place = [&](uint64_t bytes) {
    for (size_t i = 0; i < room.size(); ++i) {
      if (room[i].bytes - used[i] < bytes) continue;
      uint8_t* const at = room[i].data.get() + used[i];
      used[i] = std::min<uint64_t>(room[i].bytes, used[i] + rounded_up(bytes, kDirectAlignment));
      return HostMemory{{room[i].data, at}, bytes, room[i].pinned};
    }
    return allocate_huge(bytes, false);
  };
  for (const FileSums& file : manifest_.files) files_.push_back(place(file.bytes));
}

void LoadedState::read(const SetFiles& from, const std::string& directory,
                       const std::vector<size_t>& files, int64_t threads) {
  FileMemory memory;
  for (size_t i = 0; i < files_.size(); ++i) memory.push_back(file(i));
  FileMemory fresh;
  for (const size_t i : files) fresh.push_back(memory[i]);
  const FaultAhead ahead(std::move(fresh));
  load_files(from, directory, manifest_, files, threads, memory);
}

std::span<uint8_t> LoadedState::file(size_t index) {
  return {files_[index].data.get(), manifest_.files[index].bytes};
}

void LoadedState::copy(size_t tensor, uint8_t* to, int64_t threads) const {
  copy(tensor, 0, {to, tensors()[tensor].bytes}, threads);
}

void LoadedState::copy(size_t tensor, uint64_t begin, std::span<uint8_t> to,
                       int64_t threads) const {
  // Data files come first in the manifest, in the order of the layout.
  for (size_t file = 0; file < manifest_.layout.files.size(); ++file) {
    for (const TensorPiece& piece : manifest_.layout.files[file].pieces) {
      if (piece.tensor != tensor) continue;
      const uint64_t first = std::max(begin, piece.begin);
      const uint64_t last = std::min(begin + to.size(), piece.begin + piece.bytes);
      if (first >= last) continue;  // `to` may be null
      const uint64_t bytes = last - first;
      const uint8_t* const from = files_[file].data.get() + piece.offset + (first - piece.begin);
      uint8_t* const target = to.data() + (first - begin);
      const auto parts = static_cast<int64_t>((bytes - 1) / kChunkBytes + 1);
      parallel_for(threads, parts, [&](int64_t part) {
        const uint64_t at = static_cast<uint64_t>(part) * kChunkBytes;
        std::memcpy(target + at, from + at, std::min(kChunkBytes, bytes - at));
      });
    }
  }
}

}  // namespace stoker
