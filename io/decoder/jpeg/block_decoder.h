#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "io/decoder/jpeg/bit_reader.h"
#include "io/decoder/jpeg/block_tables.h"

namespace stoker {

// Entropy decoding of a few blocks at a time, without a branch that depends on the data: whether a
// block ends with a look-up selects the next table, block and position, and is not jumped on. What
// is left are the symbols that a table does not cover. One thread at a time. Throws nothing. Reads
// beyond the scan's end without noticing: the caller keeps kMaxBytes readable there and compares
// the position afterwards.
class BlockDecoder {
 public:
  // Of a batch: four MCUs of 4:2:0, or any other whole number of MCUs below that.
  static constexpr size_t kMaxBlocks = 24;
  // One look at the position before each batch is enough, if so many bytes may be read behind it:
  // a symbol takes at most 16 bits and its value 11.
  static constexpr size_t kMaxBytes = kMaxBlocks * 64 * 27 / 8 + 16;

  BlockDecoder();
  // The tables of block `i` of every batch, i < kMaxBlocks. They must outlive the batches.
  void set_tables(size_t i, const BlockTables& tables);

  // Decodes the first `blocks` blocks of a batch. False: there is something in them that no encoder
  // writes; the values are unspecified then.
  bool decode(BitReader& bits, size_t blocks);
  // The same, but only the first value of each block is there: faster.
  bool skip(BitReader& bits, size_t blocks);

  // Of block `i` of the last batch: 64 values in natural order, the first one being a difference;
  // aligned to 64 bytes.
  int16_t* values(size_t i) { return batch_.blocks[i].values; }
  // All values behind this position (in the scan's order) are 0.
  int last(size_t i) const { return static_cast<int>(batch_.steps[i].last); }

 private:
  struct alignas(64) Block {
    int16_t values[64];
  };
  // What is needed to decode one block. As far apart as blocks, so that a step is found from its
  // block.
  struct alignas(sizeof(Block)) Step {
    const BlockTables* tables = nullptr;
    const uint32_t* dc = nullptr;
    // What follows dc: tables->ac or tables->skip.
    const uint32_t* rest = nullptr;
    uint64_t last = 0;
  };
  // The block behind the last one takes what is stored behind a block's end.
  struct Batch {
    std::array<Block, kMaxBlocks + 1> blocks;
    std::array<Step, kMaxBlocks + 1> steps;
    std::array<Step, kMaxBlocks + 1> skips;  // the steps of skip()
  };
  struct State;
  // decode() and skip(): one loop, compiled twice.
  template <bool kSkip>
  STOKER_AVX2 bool decode_batch(BitReader& bits, size_t blocks);
  // The symbol that no table covers.
  template <bool kSkip>
  bool continue_slowly(State& state);
  template <bool kSkip>
  static Step& step_of(int16_t* block) {
    return *reinterpret_cast<Step*>(reinterpret_cast<char*>(block) +
                                    (kSkip ? offsetof(Batch, skips) : offsetof(Batch, steps)));
  }

  Batch batch_;
  BlockTables::Entries stop_;  // nothing but slow entries
};

}  // namespace stoker
