#include "io/checkpoint/restoring/loaded_state.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "io/core/parallel.h"

namespace stoker {
namespace {

// The page size of x86-64, and of most kernels on AArch64.
constexpr size_t kHugePage = size_t{2} << 20;

// Faults in the pages of a range that begins at one, whatever others write to it meanwhile. Nothing
// happens on a kernel before 5.14: there the first writer pays.
void fault_in(std::span<uint8_t> memory) {
  ::madvise(memory.data(), memory.size(), MADV_POPULATE_WRITE);
}

}  // namespace

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
  std::vector<uint64_t> used(room.size());
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

// Pages that are not yet there are faulted in beside the reading, for a thread that meets a fault
// between two reads keeps the tier waiting.
void LoadedState::read(const SetFiles& from, const std::string& directory,
                       const std::vector<size_t>& files, int64_t threads) {
  FileMemory memory;
  for (size_t i = 0; i < files_.size(); ++i) memory.push_back(file(i));
  const std::jthread ahead([&](const std::stop_token& done) {
    for (const size_t i : files) {
      for (size_t at = 0; at < memory[i].size() && !done.stop_requested(); at += kHugePage) {
        fault_in(memory[i].subspan(at, std::min(kHugePage, memory[i].size() - at)));
      }
    }
  });
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
