#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "io/core/system/memory.h"

namespace stoker {

// How Darshan lays its logs out (README.md has the table). Numbers are those of the machine that
// wrote the log: the magic number tells its byte order.
struct DarshanFormat {
  static constexpr int64_t kMagic = 6567223;
  static constexpr size_t kJobBytes = 4096;  // at most, with command and mounts
  static constexpr size_t kMetadataBytes = 1024;
  static constexpr size_t kHostBytes = 64;
  static constexpr size_t kModules = 64;  // 16 before format 3.41

  // As a byte of the header.
  enum Compression : uint8_t { kZlib, kBzip2, kNone };
  // As format 3.41 numbers them.
  enum Module : size_t { kPosix = 1, kStdio = 9, kDxtPosix = 10, kHeatMap = 15 };
  static constexpr std::array<const char*, 18> kModuleNames = {
      "NULL",        "POSIX", "MPI-IO", "H5F",     "H5D",       "PNETCDF_FILE",
      "PNETCDF_VAR", "BG/Q",  "LUSTRE", "STDIO",   "DXT_POSIX", "DXT_MPIIO",
      "MDHIM",       "APXC",  "APMPI",  "HEATMAP", "DFS",       "DAOS"};

  // HEATMAP has a record for each module that moves bytes, under these hashes of "heatmap:POSIX"
  // and "heatmap:STDIO".
  static constexpr uint64_t kPosixHeatMap = 16592106915301738621U;
  static constexpr uint64_t kStdioHeatMap = 3989511027826779520U;

  // Where a part lies in the file, compressed.
  struct Place {
    uint64_t offset = 0;
    uint64_t bytes = 0;
  };
  // The header of format 3.41, as it is in the file.
  struct Header {
    char version[8] = "3.41";
    int64_t magic = kMagic;
    uint64_t compression = kZlib;  // its first byte
    uint64_t partial = 0;          // a bit for each module
    Place names;
    std::array<Place, kModules> modules{};
    std::array<uint32_t, kModules> versions{};
  };
  static_assert(sizeof(Header) == 1328);
};

class Unpacker;

// A part of a Darshan log as its bytes were before they were compressed: one stream of zlib
// or bzip2, or several behind each other, for each process may write its own. One thread at a time;
// it does not own the packed bytes. Error(ExitCode::data), which names the part, where it is
// damaged.
class LogRegion {
 public:
  // swapped: numbers are in the other byte order. what: how messages begin, "LOG: POSIX".
  struct Source {
    Bytes bytes;
    DarshanFormat::Compression compression = DarshanFormat::kZlib;
    bool swapped = false;
    std::string what;
  };
  explicit LogRegion(Source source);
  ~LogRegion();
  LogRegion(const LogRegion&) = delete;
  LogRegion& operator=(const LogRegion&) = delete;

  // Fills `to`. False: the part has ended before; Error: it ends in the middle.
  bool read(std::span<uint8_t> to);
  // The same for numbers of 8 bytes.
  bool read(std::span<uint64_t> to);
  // The text up to the next NUL, which is left out. Error: no NUL comes within `most` bytes.
  std::string read_text(size_t most);
  // The same where the length stands before it, in 4 bytes.
  std::string read_counted_text(size_t most);
  // What is left, or as much of it.
  std::string read_rest(size_t most);

  [[noreturn]] void fail(const std::string& why) const;

 private:
  // Unpacks more bytes into the buffer. False: the region has no more.
  bool refill();
  size_t take(std::span<uint8_t> to);

  Source source_;
  std::unique_ptr<Unpacker> stream_;  // that has begun, and not ended
  std::array<uint8_t, 32 << 10> buffer_;
  std::span<const uint8_t> ready_;
};

}  // namespace stoker
