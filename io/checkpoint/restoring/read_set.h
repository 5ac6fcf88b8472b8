#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "io/checkpoint/restoring/piece_reader.h"
#include "io/checkpoint/sets/manifest.h"
#include "io/checkpoint/sets/set_files.h"
#include "io/core/error.h"

namespace stoker {

// A set in which not every byte is what was written. what() names file, tensor (or header) and
// offsets of the first damage. Exit code `storage`.
class DamagedSet final : public NoRetry {
 public:
  explicit DamagedSet(const std::string& what) : NoRetry(ExitCode::storage, what) {}
};

// A verified chunk: its file (index into Manifest::files), its offset there, its bytes (aligned to
// kDirectAlignment, valid during the call). Called by several threads at once.
using ChunkSink = std::function<void(size_t file, uint64_t offset, Bytes bytes)>;

// Where the bytes of each of Manifest::files go. Of those that are read there is room for all.
using FileMemory = std::vector<std::span<uint8_t>>;

// The manifest of the set in `directory`. DamagedSet, or
// IoError where it cannot be read: then nothing is known of the set. Any thread; so are the
// functions below.
Manifest read_manifest(const SetFiles& from, const std::string& directory);

// Which of a manifest's files are in the directory, as indices. DamagedSet where one has another
// size, others lie beside them, or one is missing from a set that was written in one part. Reads
// none of them, so it can come before memory is allocated by their sizes.
std::vector<size_t> files_here(const SetFiles& from, const std::string& directory,
                               const Manifest& manifest);

// The same where all files have to be there: DamagedSet names how many are.
std::vector<size_t> whole_set(const SetFiles& from, const std::string& directory,
                              const Manifest& manifest);

// Reads these files of a set with `threads` threads, past the page cache where possible, checks
// every chunk and hands it to `sink` (which may be empty); then the checksums of the tensors that
// are in them as a whole. DamagedSet; IoError; what `sink` throws; of several failures the first by
// place in the set.
void read_files(const SetFiles& from, const std::string& directory, const Manifest& manifest,
                const std::vector<size_t>& files, int64_t threads, const ChunkSink& sink);

// The same to memory, which is not to be used after an exception: bytes are there before they were
// checked.
void load_files(const SetFiles& from, const std::string& directory, const Manifest& manifest,
                const std::vector<size_t>& files, int64_t threads, const FileMemory& memory);

// Reads as many bytes by the same requests, and sums and keeps nothing: what the tier gives by
// itself. IoError.
PieceReport read_plainly(const SetFiles& from, const std::string& directory,
                         const Manifest& manifest, int64_t threads);

// read_files() of the whole set, all of which has to be there.
void read_set(const SetFiles& from, const std::string& directory, const Manifest& manifest,
              int64_t threads, const ChunkSink& sink);

}  // namespace stoker
