#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "io/core/system/memory.h"
#include "io/dataset/formats/hdf5/program/library.h"
#include "io/dataset/formats/hdf5/protocol.h"

namespace stoker {

// The process that started this one, at the other end of standard input. Ends this process where
// it is gone. One thread.
class Hdf5Parent final : public Hdf5Medium {
 public:
  // `bytes`: the size of the object that it reads for this process.
  explicit Hdf5Parent(uint64_t bytes) : bytes_(bytes) {}

  uint64_t bytes() const override { return bytes_; }
  // False: the bytes are not all there. Short reads are taken from blocks that are kept.
  bool read(uint64_t offset, size_t bytes, void* out) override;
  // The last that is said, one of them.
  static void answer(Bytes bytes);
  static void refuse(const std::string& why);
  static void miss(const Hdf5Absent& absent);

 private:
  const std::vector<uint8_t>& block(uint64_t number);

  const uint64_t bytes_;
  std::map<uint64_t, std::vector<uint8_t>> blocks_;
};

}  // namespace stoker
