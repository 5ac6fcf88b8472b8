#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

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

}  // namespace stoker
