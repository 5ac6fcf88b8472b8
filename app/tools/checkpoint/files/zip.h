#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "app/tools/checkpoint/files/stored_tensors.h"
#include "io/core/system/file.h"

namespace stoker {

// An entry of a zip that is stored as it is. A value.
struct StoredEntry {
  uint64_t offset = 0;  // of its bytes in the archive
  uint64_t bytes = 0;
  uint32_t crc32 = 0;
};

// The entries of a zip, by name: where the bytes of each lie, so that any part of any can be read.
// libarchive, which the data sets use, gives an archive's bytes in their order only, and has no
// offsets; torch.save stores its entries, and needs no more than this. ZIP64 is read. Refused by
// Error(ExitCode::storage), with what is there instead: what is compressed or encrypted, entries
// that lie beyond the archive or in each other, a name that occurs twice.
std::map<std::string, StoredEntry> read_zip(const InputFile& file);

// A zip as torch.save writes it: entries are stored, and the bytes of each begin at a multiple of
// 64, so that torch.load(mmap=True) gives aligned tensors. (libarchive's writer has no way to
// align.) ZIP64 where it has to be. Written from the begin to the end; one thread. `file` must
// outlive it, and is not committed by it. Throws IoError.
class ZipWriter {
 public:
  explicit ZipWriter(AtomicFile& file) : file_(file) {}

  // Begins an entry of so many bytes, which append() has to give before the next call.
  void begin(const std::string& name, uint64_t bytes);
  void append(Bytes bytes);
  // An entry in one call.
  void add(const std::string& name, const std::string& text);
  // The directory. Once, last.
  void finish();

 private:
  struct Entry {
    std::string name;
    uint64_t offset;  // of its header
    uint64_t bytes;
    uint32_t crc32 = 0;
  };
  void end_entry();
  void write(const std::string& text);
  std::string directory_entry(const Entry& entry) const;

  AtomicFile& file_;
  uint64_t at_ = 0;  // bytes written
  std::vector<Entry> entries_;
  bool open_ = false;
};

}  // namespace stoker
