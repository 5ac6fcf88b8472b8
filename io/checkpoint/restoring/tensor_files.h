#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "io/checkpoint/restoring/piece_reader.h"
#include "io/checkpoint/restoring/safetensors.h"
#include "io/checkpoint/sets/set_files.h"
#include "io/core/config/config.h"
#include "io/core/system/memory.h"

namespace stoker {

// How files are read. automatic: past the page cache, but for those of which it holds more than
// half.
enum class LoadAccess { automatic, direct, buffered };
EnumNames<LoadAccess> enum_names(LoadAccess);

// A file on a tier: where the tier's files are, and the path from its root. A value.
struct LoadSource {
  SetFiles from;
  std::string path;
  // The tensors of it that count, as an index names them. Empty: all.
  std::optional<std::vector<std::string>> named = {};
};
// A file of this machine's, by its path as the kernel has it. `tree` is where it is put, and has to
// stay where it is.
LoadSource load_source(const std::string& path, std::optional<FileTree>& tree);

// Safetensors files that are open, with their headers, to be read whole. Of each, the blocks from
// the one in which its data begin are an image: what memory holds of it, so that direct I/O reads
// right to where the tensors stay. Any thread, once it is made. The tiers must outlive it.
class TensorFiles {
 public:
  struct File {
    std::string path;  // as messages call it
    uint64_t bytes = 0;
    uint64_t image_begin = 0;  // in the file: a multiple of kDirectAlignment
    SafetensorsHeader header;
    // Where a tensor begins in the image.
    uint64_t place(const StoredTensor& tensor) const { return tensor.begin - image_begin; }
    uint64_t image_bytes() const { return bytes - image_begin; }
  };

  // Opens the files and reads their headers. IoError; Error(ExitCode::storage) as
  // parse_safetensors(), and for a tensor that two files have.
  TensorFiles(const std::vector<LoadSource>& sources, LoadAccess access);
  const std::vector<File>& files() const { return files_; }
  // Of all images.
  uint64_t bytes() const;

  // The images in pieces, file by file, and the most that one has. begin and end are in the image.
  const std::vector<FilePiece>& pieces() const { return pieces_; }
  uint64_t piece_bytes() const { return piece_bytes_; }
  // Reads all pieces, by read_pieces().
  PieceReport read(const PieceReading& reading) const;
  // Reads each image to its memory, which has room for it and begins at a page; faults are taken
  // beside the reading. After an exception some of it may be there.
  PieceReport read(const std::vector<HostMemory>& images, int64_t threads) const;

 private:
  std::vector<File> files_;
  std::vector<std::optional<SetFile>> open_;
  std::vector<FilePiece> pieces_;
  uint64_t piece_bytes_ = 0;
};

// Memory for an image from an allocator whose alignment is less.
HostMemory allocate_image(const HostAllocator& allocate, uint64_t bytes);

}  // namespace stoker
