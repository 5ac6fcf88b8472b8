#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "io/checkpoint/sets/set_files.h"
#include "io/core/system/memory.h"

namespace stoker {

// Bytes [begin, end) of a file, which are read by one call: an index into files, and a begin that
// is a multiple of kDirectAlignment. A value.
struct FilePiece {
  size_t file = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
};

// What becomes of pieces. A value. Both functions are called by several threads at once, and what
// they throw ends the reading.
struct PieceReading {
  int64_t threads = 1;
  // Where the bytes of a piece stay, at a multiple of kDirectAlignment; asked for in about the
  // order of the pieces, and may wait by wait_interruptibly() until there is room: that wait ends
  // when the reading fails. Empty: they pass through a buffer of the thread's own.
  std::function<uint8_t*(size_t piece)> place = {};
  // Called once for each piece with its bytes, which are valid during the call where they do not
  // stay.
  std::function<void(size_t piece, Bytes bytes)> done = {};
  // With a place: `done` is called by other threads, while those that read go on; else by the one
  // that has read the piece.
  bool beside = false;
};

// How pieces were read. A value.
struct PieceReport {
  int64_t threads = 0;
  bool direct = false;  // past the page cache, at least one file
  bool uring = false;   // and by io_uring, with several requests of a thread in flight
};

// The threads of all who read files of sets, where nobody says how many.
inline constexpr int64_t kReadingThreads = 8;

// Reads pieces of files by threads that take them in their order, so that a large file keeps all of
// them busy and a disk reads on where it is. What goes past the page cache is asked for by io_uring
// where the kernel allows it, 1 MiB a request; all else by pread, or as objects. A tier's layers
// see a call for each piece. `files` may have gaps that no piece is of. Any thread. IoError; what
// the functions throw; of several failures the first by the order of the pieces: those before it
// were all taken before it, so that it is the same for any number of threads. Interrupted.
PieceReport read_pieces(std::span<const std::optional<SetFile>> files,
                        std::span<const FilePiece> pieces, const PieceReading& reading);

}  // namespace stoker
