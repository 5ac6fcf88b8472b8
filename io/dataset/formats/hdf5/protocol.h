#pragma once

#include <cstddef>
#include <cstdint>

// What this program and lib/stoker/stoker_hdf5, which alone is linked to libhdf5, say to each
// other over a socket: the other program's standard input. Same machine, same build: numbers are as
// the processor has them.
//
// stoker_hdf5 asks by a Hdf5Message: `read` for bytes, which come back without a header. Its last
// message is `answer`, `refusal` (a text) or `absent`, with as many bytes behind it. `absent` says
// that a data set is not there: the path that was asked for, what to do, and the paths that are
// there, each ended by a 0. An answer is words of 64 bits, then bytes:
//
//   version     "1.10.8": bytes alone
//   scan        Hdf5Layout (layout.h), in the order of its fields; a list has its length in front
//   write       where the values of each data set begin in the file on descriptor 3, in which they
//               are a hole; no length in front. Asked by four words for each data set: path, type
//               (as NumPy: u1, u8, i4, i8, f4, S12), shape (16x768x1152), contiguous or chunk

namespace stoker {

enum class Hdf5Verb : uint64_t { read = 1, answer = 2, refusal = 3, absent = 4 };

// A value.
struct Hdf5Message {
  Hdf5Verb verb{};
  uint64_t offset = 0;  // of `read`
  uint64_t bytes = 0;
};

// How samples lie in a data set, as `scan` is asked and answers.
enum class Hdf5Form : uint64_t { automatic = 0, encoded = 1, rows = 2, file = 3 };

// Filters, as libhdf5 numbers them.
enum class Hdf5Filter : uint64_t { deflate = 1, shuffle = 2 };

// What both sides hold to.
inline constexpr uint64_t kHdf5MaxRead = uint64_t{8} << 20;
inline constexpr uint64_t kHdf5MaxAnswer = uint64_t{1} << 30;
inline constexpr uint64_t kHdf5MaxSamples = uint64_t{1} << 24;  // and chunks of a shard
inline constexpr uint64_t kHdf5MaxKey = 4096;
inline constexpr uint64_t kHdf5MaxPaths = 100;  // of those that are there
inline constexpr uint64_t kHdf5MaxRank = 32;    // libhdf5's own
inline constexpr uint64_t kHdf5MaxFilters = 2;
inline constexpr uint64_t kHdf5MaxBeside = 2;
inline constexpr int kHdf5FileDescriptor = 3;

}  // namespace stoker
