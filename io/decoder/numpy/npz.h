#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "io/core/system/memory.h"

namespace stoker {

// NumPy's archive of arrays (.npz): a zip file with a member NAME.npy for each array, stored or
// deflated. Any thread.

// Whether a file begins as a zip file.
bool is_npz(Bytes file);

// The member NAME.npy of a file that is_npz(); without a name, the first member. Where it is
// stored, the bytes lie in the file; where it is deflated, in `scratch`. Its CRC-32 was checked.
// BadSample: truncated or corrupt for damage, unsupported where there is no such member (the
// message names those that are there), or where it is packed in another way; too_large for more
// than `most` bytes.
Bytes npz_member(Bytes file, const std::string& name, uint64_t most, Buffer& scratch);

// Writes an archive of stored members from its begin to its end, so that nothing of it has to be in
// memory or be gone back to: sizes and checksums stand behind each member, and in the directory at
// the end, in 64 bits. One thread.
class NpzWriter {
 public:
  using Append = std::function<void(Bytes)>;
  explicit NpzWriter(Append append) : append_(std::move(append)) {}

  // Begins the member NAME.npy, and ends the one before it.
  void begin(const std::string& name);
  // More bytes of the member.
  void write(Bytes bytes);
  // Ends the archive.
  void finish();

 private:
  struct Member {
    std::string name;
    uint64_t offset = 0;
    uint64_t bytes = 0;
    uint32_t crc = 0;
  };
  void put(const std::string& text);
  void end_member();

  const Append append_;
  uint64_t offset_ = 0;
  bool open_ = false;
  std::vector<Member> members_;
};

}  // namespace stoker
