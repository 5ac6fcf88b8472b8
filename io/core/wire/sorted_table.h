#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "io/core/system/memory.h"

namespace stoker {

// LevelDB's table of keys and values, sorted by the bytes of the keys, as TensorFlow keeps the
// index of a checkpoint in it:
//
//   blocks       entries (what a key shares with the one before it, how many bytes it adds, how
//                many the value has, these bytes), then the offsets of the entries that share
//                nothing; behind each block its kind (0: not compressed) and a masked CRC-32C
//   meta block   empty
//   index block  for each block its last key, its offset and its size
//   footer       where the two lie; a magic number

// Makes a table in memory. A value; one thread at a time.
class SortedTableWriter {
 public:
  // Keys have to rise. std::logic_error: this one does not.
  void add(std::string_view key, std::string_view value);
  // The table's bytes. Once, after the last add().
  std::string finish();

 private:
  // Entries of a block that is not full yet.
  class Block {
   public:
    // Every how many entries one shares nothing with the one before it.
    explicit Block(size_t restart_every) : restart_every_(restart_every) {}
    void add(std::string_view key, std::string_view value);
    bool empty() const { return entries_ == 0; }
    size_t size() const { return bytes_.size(); }
    const std::string& last_key() const { return last_key_; }
    // With the offsets behind it. It is empty again afterwards.
    std::string take();

   private:
    size_t restart_every_;
    std::string bytes_;
    std::string last_key_;
    std::vector<uint32_t> restarts_;
    size_t entries_ = 0;
  };
  // Appends a block, and returns where it lies: offset and size.
  std::string append(const std::string& block);
  void end_block();

  std::string file_;
  Block block_{16};
  Block index_{1};
};

// Calls `visit` with each entry in the order of the keys, which rise strictly; keys and values are
// valid during the call. Every checksum and every length is checked before it is used.
// BadSample(corrupt): the bytes are no table; BadSample(unsupported): a block is compressed. Throws
// what `visit` throws. Any thread.
void read_sorted_table(Bytes file, const std::function<void(std::string_view, Bytes)>& visit);

}  // namespace stoker
