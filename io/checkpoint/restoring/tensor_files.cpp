#include "io/checkpoint/restoring/tensor_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <span>
#include <utility>

#include "io/checkpoint/restoring/safetensors.h"
#include "io/core/error.h"
#include "io/core/text/text.h"
#include "io/core/threads.h"
#include "io/storage/page_cache.h"

namespace stoker {
namespace {

// Straight to where they stay, so nothing is gained by what fits into a cache.
constexpr uint64_t kFilePieceBytes = 4ull << 20;
// A request to objects is dear.
constexpr uint64_t kObjectPieceBytes = 8ull << 20;
// Of a file's begin: most headers end in it.
constexpr uint64_t kFirstRead = 256ull << 10;
constexpr double kMostlyCached = 0.5;

FileAccess access_of(const LoadSource& source, LoadAccess wanted) {
  if (wanted == LoadAccess::buffered) return FileAccess::buffered;
  const FileTree* const tree = source.from.tree();
  if (wanted == LoadAccess::direct || tree == nullptr) return FileAccess::direct;
  const std::optional<double> cached =
      page_cache_residency(*tree, std::array{source.path}).cached_share();
  return cached.value_or(0) > kMostlyCached ? FileAccess::buffered : FileAccess::direct;
}

SafetensorsHeader read_header(const SetFile& file, uint64_t bytes) {
  HostMemory start = allocate_huge(std::min(kFirstRead, bytes), false);
  const auto read = [&] { file.read_at(0, {start.data.get(), start.bytes}); };
  const auto first = [&](uint64_t count) {
    return Bytes(start.data.get(), std::min<uint64_t>(count, start.bytes));
  };
  read();
  const uint64_t header = safetensors_header_bytes(first(kSafetensorsPrefix), bytes, file.full());
  if (header > start.bytes) {
    start = allocate_huge(header, false);
    read();
  }
  return parse_safetensors(first(header), bytes, file.full());
}

}  // namespace

EnumNames<LoadAccess> enum_names(LoadAccess) {
  return {{"auto", LoadAccess::automatic},
          {"direct", LoadAccess::direct},
          {"buffered", LoadAccess::buffered}};
}

LoadSource load_source(const std::string& path, std::optional<FileTree>& tree) {
  std::filesystem::path absolute = std::filesystem::absolute(path);
  if (!absolute.has_filename()) absolute = absolute.parent_path();
  tree.emplace(absolute.parent_path().native());
  return {SetFiles(*tree), to_text(absolute.filename().native())};
}

TensorFiles::TensorFiles(const std::vector<LoadSource>& sources, LoadAccess access) {
  std::set<std::string> names;
  for (const LoadSource& source : sources) {
    const bool objects = source.from.tree() == nullptr;
    piece_bytes_ = std::max(piece_bytes_, objects ? kObjectPieceBytes : kFilePieceBytes);
  }
  for (const LoadSource& source : sources) {
    const SetFile& open =
        *open_.emplace_back(source.from.open(source.path, access_of(source, access)));
    File file{open.full(), open.size(), 0, {}};
    file.header = read_header(open, file.bytes);
    if (source.named) keep_indexed(file.header.tensors, *source.named, file.path);
    file.image_begin = file.header.data_begin / kDirectAlignment * kDirectAlignment;
    for (const StoredTensor& tensor : file.header.tensors) {
      if (names.insert(tensor.name).second) continue;
      throw Error(ExitCode::storage,
                  file.path + ": tensor " + tensor.name + " is in another of the files, too");
    }
    for (uint64_t at = 0; at < file.image_bytes(); at += piece_bytes_) {
      pieces_.push_back({files_.size(), at, std::min(file.image_bytes(), at + piece_bytes_)});
    }
    files_.push_back(std::move(file));
  }
}

uint64_t TensorFiles::bytes() const {
  uint64_t sum = 0;
  for (const File& file : files_) sum += file.image_bytes();
  return sum;
}

PieceReport TensorFiles::read(const PieceReading& reading) const {
  std::vector<FilePiece> in_files = pieces_;
  for (FilePiece& piece : in_files) {
    piece.begin += files_[piece.file].image_begin;
    piece.end += files_[piece.file].image_begin;
  }
  return read_pieces(open_, in_files, reading);
}

PieceReport TensorFiles::read(const std::vector<HostMemory>& images, int64_t threads) const {
  std::vector<std::span<uint8_t>> memory;
  for (size_t i = 0; i < files_.size(); ++i) {
    memory.emplace_back(images[i].data.get(), files_[i].image_bytes());
  }
  const FaultAhead ahead(std::move(memory));
  const auto place = [&](size_t piece) {
    return images[pieces_[piece].file].data.get() + pieces_[piece].begin;
  };
  return read({.threads = threads, .place = place});
}

HostMemory allocate_image(const HostAllocator& allocate, uint64_t bytes) {
  HostMemory memory = allocate(bytes + kDirectAlignment);
  const auto address = reinterpret_cast<uintptr_t>(memory.data.get());
  uint8_t* const begin = memory.data.get() + (rounded_up(address, kDirectAlignment) - address);
  return {{memory.data, begin}, bytes, memory.pinned};
}

}  // namespace stoker
